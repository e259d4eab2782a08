#!/bin/sh
# Tests the endpoint with programs that aren't ours: the official MCP conformance runner, TypeScript client and inspector.
# They are installed with npm into build/conformance; an older Node does, they bring their own.
#
#   run.sh fixtures                            both requirement sets, against the fixtures
#   run.sh shipped URL                         both sets but for what needs fixtures; the token is read from stdin
#   run.sh clients TOOL ARGUMENTS URL COMMAND… the clients, over HTTP and over the stdio COMMAND; the token is read from
#                                              stdin; ARGUMENTS is a JSON object with one string
#   run.sh pairing                             the TypeScript client pairs in a browser, and the runner's scenarios for
#                                              authorization servers
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
build=$root/build/conformance
mkdir -p "$build"
cp "$here/package.json" "$here/client.mjs" "$here/pair.mjs" "$build/"
[ -x "$build/node_modules/node/bin/node" ] && cmp -s "$here/package.json" "$build/installed.json" || {
	# Only Node's own install script is run: it fetches the program.
	(cd "$build" && npm install --ignore-scripts --no-package-lock --no-audit --no-fund --loglevel=error &&
		npm rebuild node --ignore-scripts=false --loglevel=error)
	cp "$here/package.json" "$build/installed.json"
}
node=$build/node_modules/node/bin/node
HANDRAIL_NODE_MODULES=$build/node_modules
export HANDRAIL_NODE_MODULES
work=$(mktemp -d)
trap 'exec 3>&-; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# begin ARGUMENTS: starts our helper, which ends when file 3 is closed, and sets url.
begin() {
	(cd "$root" && go build -tags conformance -o "$work/conformance" ./core/server/conformance)
	rm -f "$work/in" "$work/out"
	mkfifo "$work/in" "$work/out"
	"$work/conformance" "$@" <"$work/in" >"$work/out" 2>"$work/log" &
	exec 3>"$work/in"
	[ -z "${token-}" ] || echo "$token" >&3
	read -r url <"$work/out" || { cat "$work/log" >&2; exit 1; }
}

# suite REVISION OPTIONS…
suite() {
	revision=$1
	shift
	echo "== MCP $revision"
	(cd "$work" && "$node" "$build/node_modules/@modelcontextprotocol/conformance/dist/index.js" server --url "$url" --requirements "$revision" "$@" >"$work/result" 2>&1) || {
		sed -n '/=== SUMMARY ===/,$p' "$work/result"
		tail -n 20 "$work/log"
		echo "conformance: MCP $revision failed" >&2
		exit 1
	}
	grep '^Total:\|^Not scored\|Baseline check passed' "$work/result"
}

# check NAME TEXT COMMAND…: the command must succeed, and its output hold the text and no failure.
check() {
	name=$1 want=$2
	shift 2
	if "$@" >"$work/said" 2>"$work/warned" && grep -q "$want" "$work/said" && ! grep -q '"isError": true' "$work/said"; then
		echo "$name: ok. $(tail -n 1 "$work/warned")"
	else
		cat "$work/warned" "$work/said" >&2
		echo "$name: failed" >&2
		exit 1
	fi
}

case ${1-} in
fixtures)
	begin fixtures
	suite 2025-11-25
	suite 2026-07-28
	;;
shipped)
	read -r token
	begin proxy "$2"
	suite 2025-11-25 --expected-failures "$here/needs-fixtures-2025-11-25.yml"
	suite 2026-07-28 --expected-failures "$here/needs-fixtures-2026-07-28.yml"
	;;
clients)
	read -r token
	tool=$2 arguments=$3 endpoint=$4
	shift 4
	echo "$token" | "$node" "$build/client.mjs" "$tool" "$arguments" http "$endpoint"
	"$node" "$build/client.mjs" "$tool" "$arguments" stdio "$@"
	inspector=$build/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js
	pair=$("$node" -p 'Object.entries(JSON.parse(process.argv[1])).map(([k, v]) => `${k}=${v}`)[0]' "$arguments")
	# The inspector takes a header only as an argument, where other programs see it: use a token made for this test.
	authorization="Authorization: Bearer $token"
	check "inspector, http, tools/list --strict" "\"name\": \"$tool\"" \
		"$node" "$inspector" --cli "$endpoint" --transport http --header "$authorization" --method tools/list --strict
	check "inspector, http, tools/call $tool" '"content"' \
		"$node" "$inspector" --cli "$endpoint" --transport http --header "$authorization" --method tools/call --tool-name "$tool" --tool-arg "$pair"
	check "inspector, stdio, tools/list --strict" "\"name\": \"$tool\"" \
		"$node" "$inspector" --cli "$@" --method tools/list --strict
	check "inspector, stdio, tools/call $tool" '"content"' \
		"$node" "$inspector" --cli "$@" --method tools/call --tool-name "$tool" --tool-arg "$pair"
	;;
pairing)
	found=
	for name in chromium chromium-browser google-chrome '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'; do
		found=$(command -v "$name") && break
	done
	[ -n "$found" ] || { echo "conformance: pairing needs Chromium or Chrome" >&2; exit 1; }
	# The browser's own sandbox needs a user who isn't root.
	flag=
	[ "$(id -u)" != 0 ] || flag=--no-sandbox
	printf '#!/bin/sh\nexec "%s" %s --headless --disable-gpu --disable-dev-shm-usage --no-first-run --user-data-dir="%s" "$1"\n' "$found" "$flag" "$work/profile" >"$work/browse"
	chmod +x "$work/browse"
	begin pairing
	"$node" "$build/pair.mjs" test_simple_text '{}' "$url" "$work/browse"
	begin pairing
	port=$((20000 + $$ % 20000))
	id=$("$node" -e 'const [url, port] = process.argv.slice(1); fetch(new URL("/register", url), { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ client_name: "runner", redirect_uris: [`http://127.0.0.1:${port}/callback`] }) }).then((r) => r.json()).then((r) => console.log(r.client_id))' "$url" "$port")
	(cd "$work" && exec "$node" "$build/node_modules/@modelcontextprotocol/conformance/dist/index.js" authorization --url "${url%/mcp}" --client-id "$id" --resource "$url" --port "$port" >"$work/result" 2>&1) &
	runner=$!
	for _ in $(seq 600); do
		page=$(grep -o '^http://[^ ]*/authorize[^ ]*' "$work/result") && break
		kill -0 $runner 2>/dev/null || break
		sleep 0.1
	done
	"$work/browse" "${page:-about:blank}" >/dev/null 2>&1 &
	browser=$!
	failed=0
	wait $runner || failed=1
	kill $browser 2>/dev/null || true
	wait $browser 2>/dev/null || true
	if [ $failed = 1 ] || grep -q 'SKIPPED\|FAILURE\|WARNING' "$work/result"; then
		cat "$work/result" >&2
		exit 1
	fi
	tail -n 4 "$work/result"
	;;
*)
	sed -n '2,10p' "$0" >&2
	exit 2
	;;
esac
