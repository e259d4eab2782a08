#!/bin/sh
# Tests the endpoint with programs that aren't ours: the official MCP conformance runner, TypeScript client and inspector.
# They are installed with npm into build/conformance; an older Node does, they bring their own.
#
#   run.sh fixtures                            both requirement sets, against the fixtures
#   run.sh shipped URL                         both sets but for what needs fixtures; the token is read from stdin
#   run.sh clients TOOL ARGUMENTS URL COMMAND… the clients, over HTTP and over the stdio COMMAND; the token is read from stdin
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
build=$root/build/conformance
mkdir -p "$build"
cp "$here/package.json" "$here/client.mjs" "$build/"
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
	inspector="$node $build/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js --cli"
	# The inspector takes a header only as an argument: the token must be one made for this test.
	$inspector "$endpoint" --transport http --header "Authorization: Bearer $token" --method tools/list --strict >"$work/list"
	grep -q "\"name\": \"$tool\"" "$work/list"
	echo "inspector, http: tools/list --strict lists $tool"
	$inspector "$@" --method tools/list --strict >"$work/list"
	grep -q "\"name\": \"$tool\"" "$work/list"
	echo "inspector, stdio: tools/list --strict lists $tool"
	pairs=$("$node" -e 'for (const [k, v] of Object.entries(JSON.parse(process.argv[1]))) console.log(`${k}=${v}`)' "$arguments")
	$inspector "$@" --method tools/call --tool-name "$tool" ${pairs:+--tool-arg "$pairs"} >"$work/call"
	grep -q '"content"' "$work/call" && ! grep -q '"isError": true' "$work/call"
	echo "inspector, stdio: tools/call $tool"
	$inspector "$endpoint" --transport http --header "Authorization: Bearer $token" --method tools/call --tool-name "$tool" ${pairs:+--tool-arg "$pairs"} >"$work/call"
	grep -q '"content"' "$work/call" && ! grep -q '"isError": true' "$work/call"
	echo "inspector, http: tools/call $tool"
	;;
*)
	sed -n '2,9p' "$0" >&2
	exit 2
	;;
esac
