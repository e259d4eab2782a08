package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// manifest is what MCPB's manifest version 0.3 allows, as far as we use it; it refuses other names.
type manifest struct {
	ManifestVersion string `json:"manifest_version"`
	Name            string `json:"name"`
	DisplayName     string `json:"display_name"`
	Version         string `json:"version"`
	Description     string `json:"description"`
	LongDescription string `json:"long_description"`
	Author          struct {
		Name string `json:"name"`
	} `json:"author"`
	Icon   string `json:"icon"`
	Server struct {
		Type       string `json:"type"`
		EntryPoint string `json:"entry_point"`
		Config     struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
		} `json:"mcp_config"`
	} `json:"server"`
	ToolsGenerated bool     `json:"tools_generated"`
	Keywords       []string `json:"keywords"`
	License        string   `json:"license"`
	Compatibility  struct {
		Platforms []string `json:"platforms"`
	} `json:"compatibility"`
}

// unpacked makes the extension, and gives its manifest and the folder into which it was unpacked, without modes as some do.
func unpacked(t *testing.T) (manifest, string) {
	t.Helper()
	about, err := readAbout(source, "v1.2.3-4-gabcdef", 0)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "handrail.mcpb")
	if err := about.writeExtension(file); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := about.extension(); err != nil || !bytes.Equal(data, again) {
		t.Errorf("made again it is another: %v", err)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
		if want := map[bool]os.FileMode{true: 0o755, false: 0o644}[f.Name == "server/handrail"]; f.Mode() != want {
			t.Errorf("%s has mode %v", f.Name, f.Mode())
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(names)
	if want := []string{"icon.png", "manifest.json", "server/handrail"}; !slices.Equal(names, want) {
		t.Errorf("it holds %v", names)
	}
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var m manifest
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m, dir
}

func TestExtension(t *testing.T) {
	m, dir := unpacked(t)
	if m.ManifestVersion != "0.3" || m.Name != "handrail" || m.Version != "1.2.3" || m.Description == "" || m.Author.Name == "" || m.Server.Type != "binary" ||
		!slices.Equal(m.Compatibility.Platforms, []string{"darwin"}) || !m.ToolsGenerated {
		t.Errorf("%+v", m)
	}
	if _, err := os.Stat(filepath.Join(dir, m.Server.EntryPoint)); err != nil {
		t.Error(err)
	}
	icon, err := os.Open(filepath.Join(dir, m.Icon))
	if err != nil {
		t.Fatal(err)
	}
	defer icon.Close()
	if size, err := png.DecodeConfig(icon); err != nil || size.Width != size.Height || size.Width < 256 {
		t.Errorf("%v, %v", size, err)
	}
}

// The server that the manifest names is that of the app that is installed, and without one it says what to do.
func TestExtensionStarts(t *testing.T) {
	m, dir := unpacked(t)
	home := filepath.Join(t.TempDir(), "ราว จับ")
	start := func() (string, error) {
		var args []string
		for _, arg := range m.Server.Config.Args {
			args = append(args, strings.ReplaceAll(arg, "${__dirname}", dir))
		}
		cmd := exec.Command(m.Server.Config.Command, args...)
		cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin"}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if _, err := os.Stat("/Applications/Handrail.app"); err == nil {
		t.Log("this Mac has the app: only that it is started would be seen")
		return
	}
	if out, err := start(); err == nil || !strings.Contains(out, "folder Applications") {
		t.Errorf("without the app: %v\n%s", err, out)
	}
	app := filepath.Join(home, "Applications/Handrail.app/Contents/MacOS")
	if err := os.MkdirAll(app, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(app, programs[0]), []byte("#!/bin/sh\necho \"started $*\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := start(); err != nil || out != "started stdio\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
