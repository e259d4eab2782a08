package main

import (
	"bytes"
	"debug/macho"
	"encoding/binary"
	"flag"
	"fmt"
	"image/png"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackmordaunt/icns/v3"
	"howett.net/plist"

	"handrail/assets"
)

var (
	made    = flag.String("app", "", "read this bundle, made before from Handrail's own programs")
	version = flag.String("version", "", "with -app: the version that must be in it")
)

const source = "../.."

// A bundle is what the system, Gatekeeper and the notary service want to read. Without -app it is made of a program that
// does nothing, which Go builds for macOS on every system.
func TestBundle(t *testing.T) {
	about, err := readAbout(source, *version, 0)
	if err != nil {
		t.Fatal(err)
	}
	app := *made
	if app == "" {
		app = filepath.Join(t.TempDir(), "Handrail.app")
		if err := assemble(app, source, about, tiny(t)); err != nil {
			t.Fatal(err)
		}
	}
	checkFiles(t, app)
	checkInfo(t, app, about)
	checkIcon(t, app)
	for _, name := range programs {
		t.Run(name, func(t *testing.T) { checkProgram(t, filepath.Join(app, "Contents/MacOS", name), about) })
	}
	if *made != "" {
		checkOurs(t, app)
	}
}

// tiny builds the smallest programs for both architectures.
func tiny(t *testing.T) (folders []string) {
	t.Helper()
	dir := t.TempDir()
	main := filepath.Join(dir, "main.go")
	if err := os.WriteFile(main, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"arm64", "amd64"} {
		folder := filepath.Join(dir, arch)
		for _, name := range programs {
			cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(folder, name), main)
			cmd.Env = append(os.Environ(), "GOOS=darwin", "GOARCH="+arch, "CGO_ENABLED=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		folders = append(folders, folder)
	}
	return folders
}

// checkFiles: these and no others, but for the signature; no links, nothing that others may write.
func checkFiles(t *testing.T, app string) {
	want := map[string]fs.FileMode{"Contents/Info.plist": 0o644, "Contents/PkgInfo": 0o644, "Contents/MacOS/handrail": 0o755, "Contents/MacOS/handrail-ui": 0o755,
		"Contents/Resources/Handrail.icns": 0o644, "Contents/Resources/en.lproj/InfoPlist.strings": 0o644, "Contents/Resources/th.lproj/InfoPlist.strings": 0o644}
	err := fs.WalkDir(os.DirFS(app), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		switch mode, ok := want[name]; {
		case strings.HasPrefix(name, "Contents/_CodeSignature/"), name == "Contents/CodeResources": // the latter is the stapled ticket
		case !ok || info.Mode() != mode:
			t.Errorf("%s has mode %v, want %v (0: it doesn't belong there)", name, info.Mode(), mode)
		}
		delete(want, name)
		return nil
	})
	if err != nil || len(want) > 0 {
		t.Errorf("missing: %v; %v", slices.Collect(maps.Keys(want)), err)
	}
}

func readPlist(t *testing.T, path string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if _, err := plist.Unmarshal(data, &values); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return values
}

func checkInfo(t *testing.T, app string, about about) {
	info := readPlist(t, filepath.Join(app, "Contents/Info.plist"))
	for key, want := range map[string]any{"CFBundleExecutable": "handrail", "CFBundleIdentifier": "app.handrail", "CFBundlePackageType": "APPL", "LSUIElement": true,
		"LSMinimumSystemVersion": about.MinimumMacOS, "CFBundleShortVersionString": about.Version, "CFBundleIconFile": "Handrail.icns"} {
		if info[key] != want {
			t.Errorf("%s is %v, want %v", key, info[key], want)
		}
	}
	if got := info["CFBundleLocalizations"]; fmt.Sprint(got) != "[en th]" {
		t.Errorf("languages %v", got)
	}
	for _, key := range []string{"LSEnvironment", "LSMultipleInstancesProhibited", "NSAppleEventsUsageDescription"} {
		if info[key] != nil {
			t.Errorf("%s is %v", key, info[key])
		}
	}
	english, thai := map[string]any{}, map[string]any{}
	for language, texts := range map[string]map[string]any{"en": english, "th": thai} {
		maps.Copy(texts, readPlist(t, filepath.Join(app, "Contents/Resources", language+".lproj/InfoPlist.strings")))
		if len(texts) != len(usage) {
			t.Errorf("%s: %d texts, want %d", language, len(texts), len(usage))
		}
	}
	for key := range usage {
		e, h := fmt.Sprint(english[key]), fmt.Sprint(thai[key])
		if e != info[key] || len(e) < 20 || len(h) < 20 || e == h {
			t.Errorf("%s: %q in Info.plist, %q in English, %q in Thai", key, info[key], e, h)
		}
	}
}

// checkIcon: each size that Finder draws, and they show something.
func checkIcon(t *testing.T, app string) {
	data, err := os.ReadFile(filepath.Join(app, "Contents/Resources/Handrail.icns"))
	if err != nil {
		t.Fatal(err)
	}
	if string(data[:4]) != "icns" || int(binary.BigEndian.Uint32(data[4:])) != len(data) {
		t.Fatalf("no icon: % x", data[:8])
	}
	sizes := map[string]int{}
	for rest := data[8:]; len(rest) >= 8; {
		n := int(binary.BigEndian.Uint32(rest[4:]))
		if n < 8 || n > len(rest) {
			t.Fatalf("an entry of %d bytes", n)
		}
		if img, err := png.Decode(bytes.NewReader(rest[8:n])); err == nil {
			sizes[string(rest[:4])] = img.Bounds().Dx()
		}
		rest = rest[n:]
	}
	want := map[string]int{"ic11": 32, "ic12": 64, "ic07": 128, "ic13": 256, "ic08": 256, "ic14": 512, "ic09": 512, "ic10": 1024}
	if !maps.Equal(sizes, want) {
		t.Errorf("sizes %v, want %v", sizes, want)
	}
	img, err := icns.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	b := img.Bounds()
	if _, _, _, a := img.At(b.Dx()/2, b.Dy()/2).RGBA(); a == 0 {
		t.Error("nothing in the middle of the icon")
	}
}

// Load commands that debug/macho doesn't name (mach-o/loader.h).
const (
	loadCodeSignature  = 0x1d
	loadDyldEnv        = 0x27
	loadVersionMin     = 0x24
	loadBuildVersion   = 0x32
	loadWeakLibrary    = 0x18 | 0x80000000
	loadReexport       = 0x1f | 0x80000000
	loadRunPath        = 0x1c | 0x80000000
	platformMacOS      = 1
	flagPIE            = 0x200000
	segmentReadOnly    = 0x10
	flagAllowStackExec = 0x20000
)

// checkProgram: an executable for both architectures, of the system's own libraries alone.
func checkProgram(t *testing.T, path string, about about) {
	fat, err := macho.OpenFat(path)
	if err != nil {
		t.Fatal(err)
	}
	defer fat.Close()
	var cpus []macho.Cpu
	for _, f := range fat.Arches {
		cpus = append(cpus, f.Cpu)
		if f.Offset%(1<<pageBits) != 0 {
			t.Errorf("%v begins at %d, not on a page", f.Cpu, f.Offset)
		}
		for _, wrong := range wrongIn(f.File, about.MinimumMacOS) {
			t.Errorf("%v: %s", f.Cpu, wrong)
		}
	}
	if !slices.Equal(cpus, []macho.Cpu{macho.CpuArm64, macho.CpuAmd64}) {
		t.Errorf("architectures %v", cpus)
	}
}

// wrongIn says what keeps an executable from being one of ours.
func wrongIn(f *macho.File, minimum string) (wrong []string) {
	say := func(format string, values ...any) { wrong = append(wrong, fmt.Sprintf(format, values...)) }
	if f.Type != macho.TypeExec || f.Flags&flagPIE == 0 || f.Flags&flagAllowStackExec != 0 {
		say("type %v, flags %x: want an executable at no fixed address, whose stack doesn't run", f.Type, f.Flags)
	}
	builds, signed := 0, false
	for _, load := range f.Loads {
		raw := load.Raw()
		switch command := f.ByteOrder.Uint32(raw); command {
		case loadDyldEnv:
			say("sets a variable of the loader")
		case loadRunPath:
			say("looks for libraries in %q", text(f, raw, 8))
		case loadVersionMin:
			say("names its oldest system in the old way")
		case loadCodeSignature:
			signed = true
		case loadBuildVersion:
			builds++
			platform, least := f.ByteOrder.Uint32(raw[8:]), f.ByteOrder.Uint32(raw[12:])
			if got := fmt.Sprintf("%d.%d", least>>16, least>>8&0xff); platform != platformMacOS || got != minimum {
				say("is for platform %d from %s, Info.plist says %s", platform, got, minimum)
			}
		case uint32(macho.LoadCmdDylib), loadWeakLibrary, loadReexport:
			if library := text(f, raw, 8); !strings.HasPrefix(library, "/usr/lib/") && !strings.HasPrefix(library, "/System/Library/") {
				say("needs %q, which isn't the system's", library)
			}
		}
	}
	if builds != 1 {
		say("%d load commands say the oldest system", builds)
	}
	if f.Cpu == macho.CpuArm64 && !signed {
		say("has no signature at all: Apple's processors don't start it")
	}
	for _, s := range f.Loads {
		if s, ok := s.(*macho.Segment); ok && s.Name == "__DATA_CONST" && s.Flag&segmentReadOnly == 0 {
			say("__DATA_CONST stays writable, which the loader of macOS 26 refuses")
		}
	}
	return wrong
}

// text is the string in a load command whose offset stands at a place.
func text(f *macho.File, raw []byte, at int) string {
	offset := int(f.ByteOrder.Uint32(raw[at:]))
	if offset > len(raw) {
		return ""
	}
	s, _, _ := strings.Cut(string(raw[offset:]), "\x00")
	return s
}

// checkOurs: both programs hold what is embedded, and the version.
func checkOurs(t *testing.T, app string) {
	held := func(name string, what map[string][]byte) {
		fat, err := macho.OpenFat(filepath.Join(app, "Contents/MacOS", name))
		if err != nil {
			t.Fatal(err)
		}
		defer fat.Close()
		for _, f := range fat.Arches {
			data := make([]byte, f.Size)
			file, err := os.Open(filepath.Join(app, "Contents/MacOS", name))
			if err != nil {
				t.Fatal(err)
			}
			_, err = file.ReadAt(data, int64(f.Offset))
			file.Close()
			if err != nil {
				t.Fatal(err)
			}
			for thing, bytesOf := range what {
				if len(bytesOf) == 0 || !bytes.Contains(data, bytesOf) {
					t.Errorf("%s for %v doesn't hold the %s", name, f.Cpu, thing)
				}
			}
		}
	}
	words := func(language string) []byte {
		data, err := assets.Translations.ReadFile("translations/" + language + ".json")
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	both := map[string][]byte{"English words": words("en"), "Thai words": words("th")}
	ours := maps.Clone(both)
	maps.Copy(ours, map[string][]byte{"icon of the menu bar": assets.TrayIdle, "version": []byte(*version)})
	held("handrail", ours)
	both["app icon"] = assets.AppIcon
	held("handrail-ui", both)
}

// What is wrong with an executable is found. Each case is the tiny program with a few bytes of a load command changed.
func TestWrongIn(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(tiny(t)[0], "handrail"))
	if err != nil {
		t.Fatal(err)
	}
	// command gives the offset of a load command in the file: they follow the header of 32 bytes.
	command := func(wanted uint32) int {
		for at, n := 32, binary.LittleEndian.Uint32(data[16:]); n > 0; n-- {
			if binary.LittleEndian.Uint32(data[at:]) == wanted {
				return at
			}
			at += int(binary.LittleEndian.Uint32(data[at+4:]))
		}
		t.Fatalf("no load command %x", wanted)
		return 0
	}
	set := func(at int, n uint32) func([]byte) {
		return func(b []byte) { binary.LittleEndian.PutUint32(b[at:], n) }
	}
	library := command(uint32(macho.LoadCmdDylib))
	for _, c := range []struct {
		name, want string
		change     func([]byte)
	}{
		{"as it is", "", func([]byte) {}},
		{"newer system", "from 13.0", set(command(loadBuildVersion)+12, 13<<16)},
		{"another platform", "platform 2", set(command(loadBuildVersion)+8, 2)},
		{"no system", "0 load commands", set(command(loadBuildVersion), 0x7f)},
		{"fixed address", "no fixed address", set(24, 0)},
		{"a library, not an executable", "type", set(12, uint32(macho.TypeDylib))},
		{"loader's variable", "variable of the loader", set(library, loadDyldEnv)},
		{"library of another", "isn't the system's", func(b []byte) { copy(b[library+24:], "/opt/lib") }},
		{"run path", "looks for libraries", func(b []byte) {
			set(library, loadRunPath)(b)
			set(library+8, 12)(b)
		}},
		{"no signature", "no signature", set(command(loadCodeSignature), 0x7f)},
	} {
		b := bytes.Clone(data)
		c.change(b)
		f, err := macho.NewFile(bytes.NewReader(b))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := strings.Join(wrongIn(f, "12.0"), "; ")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestUniversal(t *testing.T) {
	var both [][]byte
	for _, folder := range tiny(t) {
		data, err := os.ReadFile(filepath.Join(folder, "handrail"))
		if err != nil {
			t.Fatal(err)
		}
		both = append(both, data)
	}
	for name, c := range map[string][][]byte{"none": nil, "twice the same": {both[0], both[0]}, "no executable": {both[0], []byte("#!/bin/sh\n")}} {
		if _, err := universal(c); err == nil {
			t.Errorf("%s: joined", name)
		}
	}
	if one, err := universal(both[:1]); err != nil || !bytes.Equal(one, both[0]) {
		t.Errorf("one alone: %v", err)
	}
	fat, err := universal(both)
	if err != nil {
		t.Fatal(err)
	}
	for i, data := range both {
		if !bytes.Contains(fat, data) {
			t.Errorf("executable %d isn't in it", i)
		}
	}
}

func TestVersion(t *testing.T) {
	own, err := readAbout(source, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ git, want string }{
		{"v1.2.3", "1.2.3"}, {"1.20.3", "1.20.3"}, {"v1.2.3-4-gabcdef0-dirty", "1.2.3"}, {"abcdef0", own.Version}, {"dev", own.Version}, {"", own.Version}, {"v1.2", own.Version},
	} {
		if got, err := readAbout(source, c.git, 7); err != nil || got.Version != c.want || got.Build != 7 {
			t.Errorf("%q: %+v, %v; want %s", c.git, got, err, c.want)
		}
	}
	if _, err := readAbout(t.TempDir(), "v1.2.3", 0); err == nil {
		t.Error("a folder without FyneApp.toml has a version")
	}
}
