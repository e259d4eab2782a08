package packaging

import (
	"context"
	"debug/elf"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A package is made, installed into a folder that stands for a computer's root, and removed: nothing is left. Without
// -programs it holds scripts in place of the programs.
func TestDeb(t *testing.T) {
	from := *programs
	if from == "" {
		from = t.TempDir()
		for _, name := range []string{"handrail", "handrail-ui"} {
			write(t, filepath.Join(from, name), "#!/bin/sh\necho handrail v1.2.3\n", 0o755)
		}
	}
	from, err := filepath.Abs(from)
	if err != nil {
		t.Fatal(err)
	}
	deb := strings.TrimSpace(run(t, nil, "./deb", "v1.2.3-4-gabcdef0", from, t.TempDir()))
	if !strings.Contains(filepath.Base(deb), "handrail_1.2.3+4.gabcdef0_") {
		t.Errorf("the package is called %s", deb)
	}
	info, err := os.Stat(deb)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d bytes", filepath.Base(deb), info.Size())
	if info.Size() > 25<<20 {
		t.Errorf("the download has %d bytes", info.Size())
	}
	// Nothing of it runs when it is installed.
	if control := run(t, nil, "dpkg-deb", "--ctrl-tarfile", deb); strings.Contains(control, "inst\x00") || strings.Contains(control, "prerm\x00") || !strings.Contains(control, "./control") {
		t.Error("the package has scripts")
	}

	root := t.TempDir()
	dpkg := packageManager(t, root)
	before := files(t, root)
	dpkg("--install", deb)
	installed := filepath.Join(root, "usr/bin/handrail")
	if real, err := filepath.EvalSymlinks(installed); err != nil || real != filepath.Join(root, "usr/lib/handrail/handrail") {
		t.Errorf("%s is %s, %v", installed, real, err)
	}
	if out := run(t, nil, installed, "version"); !strings.HasPrefix(out, "handrail ") {
		t.Errorf("it says %q", out)
	}
	checkDesktop(t, root)
	if *programs != "" {
		checkLibraries(t, root, run(t, nil, "dpkg-deb", "--field", deb, "Depends"))
		checkTools(t, installed)
	}
	dpkg("--purge", "handrail")
	after := files(t, root)
	for name := range after {
		if !before[name] && !strings.HasPrefix(name, "var/lib/dpkg") && name != "dpkg.log" {
			t.Errorf("left behind: %s", name)
		}
	}
}

// packageManager makes root a computer without packages, and gives what runs dpkg on it.
func packageManager(t *testing.T, root string) func(args ...string) {
	t.Helper()
	for _, name := range []string{"status", "available"} {
		write(t, filepath.Join(root, "var/lib/dpkg", name), "", 0o644)
	}
	for _, name := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return func(args ...string) {
		t.Helper()
		// What it depends on isn't there, and nothing of the package runs in root.
		args = append([]string{"dpkg", "--root=" + root, "--log=" + filepath.Join(root, "dpkg.log"), "--force-depends", "--force-not-root", "--force-script-chrootless"}, args...)
		if os.Geteuid() != 0 {
			args = append([]string{"unshare", "--map-root-user"}, args...)
		}
		run(t, []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, args[0], args[1:]...)
	}
}

// checkDesktop: what the panel's menu shows exists.
func checkDesktop(t *testing.T, root string) {
	text, err := os.ReadFile(filepath.Join(root, "usr/share/applications/handrail.desktop"))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[key] = value
		}
	}
	for _, key := range []string{"Type", "Name", "Comment", "Comment[th]", "GenericName[th]", "Categories"} {
		if values[key] == "" {
			t.Errorf("the desktop file has no %s", key)
		}
	}
	if values["Exec"] != "handrail" || values["Terminal"] != "false" {
		t.Errorf("it starts %q, in a terminal: %s", values["Exec"], values["Terminal"])
	}
	icons, err := filepath.Glob(filepath.Join(root, "usr/share/icons/hicolor/*/apps", values["Icon"]+".*"))
	if err != nil || len(icons) != 7 {
		t.Errorf("icons %v, %v", icons, err)
	}
}

// checkLibraries: the package depends on what its programs need and open.
func checkLibraries(t *testing.T, root, depends string) {
	packages := regexp.MustCompile(`[a-z0-9][a-z0-9.+-]+`).FindAllString(depends, -1)
	of := map[string]string{"libc.so.6": "libc6", "libm.so.6": "libc6", "libdl.so.2": "libc6", "libpthread.so.0": "libc6", "libGL.so.1": "libgl1", "libX11.so.6": "libx11-6", "libXcursor.so.1": "libxcursor1",
		"libXext.so.6": "libxext6", "libXi.so.6": "libxi6", "libXinerama.so.1": "libxinerama1", "libXrandr.so.2": "libxrandr2", "libXrender.so.1": "libxrender1", "libXxf86vm.so.1": "libxxf86vm1"}
	for name, static := range map[string]bool{"handrail": true, "handrail-ui": false} {
		path := filepath.Join(root, "usr/lib/handrail", name)
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		needed, err := f.ImportedLibraries()
		f.Close()
		if err != nil || static != (len(needed) == 0) {
			t.Errorf("%s needs %v, %v", name, needed, err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !static {
			needed = append(needed, regexp.MustCompile(`libX[a-zA-Z0-9]+\.so\.[0-9]+`).FindAllString(string(data), -1)...)
			if len(needed) < 5 {
				t.Errorf("%s needs only %v", name, needed)
			}
		}
		for _, library := range needed {
			if of[library] == "" || !slices.Contains(packages, of[library]) {
				t.Errorf("%s needs %s, package %q, which the package doesn't depend on", name, library, of[library])
			}
		}
	}
	if !slices.Contains(packages, "bubblewrap") {
		t.Error("the package doesn't depend on bubblewrap")
	}
}

// files lists what is below a folder.
func files(t *testing.T, root string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, _ fs.DirEntry, err error) error {
		all[name] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// checkTools starts the installed program and asks it for its tools over MCP, and for a command in the sandbox.
func checkTools(t *testing.T, program string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	home := t.TempDir()
	cmd := exec.CommandContext(ctx, program, "serve", "--stdio", "--surface", "none", "--state", filepath.Join(t.TempDir(), "state"))
	cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin"}
	var said strings.Builder
	cmd.Stderr = &said
	s, err := mcp.NewClient(&mcp.Implementation{Name: "package test", Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	defer s.Close()
	list, err := s.ListTools(ctx, nil)
	if err != nil || len(list.Tools) < 10 {
		t.Fatalf("tools: %+v, %v", list, err)
	}
	got, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "bash", Arguments: map[string]any{"command": "echo $((6*7))"}})
	if err != nil || got.IsError || !strings.Contains(got.Content[0].(*mcp.TextContent).Text, "42") {
		t.Errorf("%+v, %v\n%s", got, err, said.String())
	}
}
