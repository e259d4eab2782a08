package packaging

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stand is a computer whose tools for signing note what they are told. answer is the notary's.
func stand(t *testing.T, flags, entitlements, answer string) (env []string, app, log string) {
	t.Helper()
	dir := t.TempDir()
	log = filepath.Join(dir, "log")
	note := "#!/bin/bash\necho \"$(basename \"$0\") $*\" >>'" + log + "'\n"
	tools := map[string]string{
		"codesign": `case "$*" in
*--entitlements*) printf %s '` + entitlements + `' ;;
*--display*) echo 'CodeDirectory v=20500 flags=` + flags + ` hashes=9' >&2 ;;
esac`,
		"ditto":   `mkdir -p "$(dirname "${@: -1}")"; touch "${@: -1}"`,
		"hdiutil": `touch "${@: -1}"`,
		"spctl":   "",
		"xcrun":   `[ "$1" != notarytool ] || echo '` + answer + `'`,
	}
	for name, does := range tools {
		write(t, filepath.Join(dir, "bin", name), note+does+"\n", 0o755)
	}
	app = filepath.Join(dir, "Handrail.app")
	for _, name := range []string{"handrail", "handrail-ui"} {
		write(t, filepath.Join(app, "Contents/MacOS", name), "", 0o755)
	}
	env = []string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "HANDRAIL_IDENTITY=", "HANDRAIL_NOTARY_KEY=", "HANDRAIL_NOTARY_KEY_ID=", "HANDRAIL_NOTARY_ISSUER="}
	return env, app, log
}

var identity = []string{"HANDRAIL_IDENTITY=Developer ID Application: Example", "HANDRAIL_NOTARY_KEY=/keys/key.p8", "HANDRAIL_NOTARY_KEY_ID=K1", "HANDRAIL_NOTARY_ISSUER=I1"}

// What is done to make a release, in which order, and what stops it.
func TestRelease(t *testing.T) {
	const signed, adhoc = "0x10000(runtime)", "0x2(adhoc)"
	for _, c := range []struct {
		name, flags, entitlements, answer string
		env                               []string
		ok                                bool
		steps                             []string
	}{
		{"a rehearsal", adhoc, "", "", nil, true, []string{"codesign --force --sign - --identifier app.handrail.ui", "codesign --force --sign -", "codesign --verify --strict", "hdiutil create"}},
		{"a release", signed, "", `{"status":"Accepted"}`, identity, true, []string{
			"codesign --force --timestamp --options runtime --sign Developer ID Application: Example --identifier app.handrail.ui", "codesign --force --timestamp --options runtime",
			"codesign --verify --strict", "ditto -c -k --keepParent", "xcrun notarytool submit", "xcrun stapler staple", "xcrun stapler validate", "hdiutil create",
			"codesign --force --timestamp --options runtime", "xcrun notarytool submit", "xcrun stapler staple", "spctl --assess --type execute", "spctl --assess --type open"}},
		{"refused by the notary", signed, "", `{"status":"Invalid"}`, identity, false, []string{"xcrun notarytool submit"}},
		{"no answer of the notary", signed, "", "", identity, false, []string{"xcrun notarytool submit"}},
		{"an entitlement", signed, "<plist/>", `{"status":"Accepted"}`, identity, false, nil},
		{"no hardened runtime", "0x0(none)", "", `{"status":"Accepted"}`, identity, false, nil},
		{"ad hoc with the hardened runtime", "0x10002(adhoc,runtime)", "", "", nil, false, nil},
		{"no key for the notary", signed, "", `{"status":"Accepted"}`, identity[:1], false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			env, app, log := stand(t, c.flags, c.entitlements, c.answer)
			out := filepath.Join(filepath.Dir(app), "release")
			said, complained, err := attempt(append(env, c.env...), "./release", app, out)
			if (err == nil) != c.ok {
				t.Errorf("%v\n%s%s", err, said, complained)
			}
			text, _ := os.ReadFile(log)
			rest := string(text)
			for _, step := range c.steps {
				_, after, found := strings.Cut(rest, step)
				if !found {
					t.Fatalf("no %q after the steps before it:\n%s", step, text)
				}
				rest = after
			}
			if strings.Contains(string(text), "codesign --force --deep") || !c.ok && strings.Contains(string(text), "spctl") {
				t.Errorf("not to be done:\n%s", text)
			}
			if c.ok && strings.Contains(said, "a rehearsal") != (len(c.env) == 0) {
				t.Errorf("it says %q", said)
			}
		})
	}
}

// The cask names the release, and nothing else gets into it.
func TestCask(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	out := run(t, nil, "./cask", "1.2.3", sum, "https://example.com/handrail/releases")
	for _, want := range []string{`version "1.2.3"`, `sha256 "` + sum + `"`, `url "https://example.com/handrail/releases/download/v#{version}/Handrail.dmg"`, `app "Handrail.app"`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if strings.Contains(out, `"~/Handrail"`) {
		t.Error("it removes the workspace")
	}
	for _, args := range [][]string{{}, {"v1.2.3", sum, "https://example.com"}, {"1.2.3", "0a", "https://example.com"}, {"1.2.3", sum, "http://example.com"}, {"1.2.3", sum, `https://example.com"; system "x`}} {
		if _, _, err := attempt(nil, "./cask", args...); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}
