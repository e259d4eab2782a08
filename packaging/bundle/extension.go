package main

import (
	"archive/zip"
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"

	"handrail/assets"
)

// extensionFiles are those of the extension for Claude Desktop (MCPB, manifest version 0.3), but for its icon.
//
//go:embed extension
var extensionFiles embed.FS

// extension makes the bundle that a click in Claude Desktop installs: a zip file whose manifest says how the server is started. It is the
// same for the same version, byte for byte.
func (a about) extension() ([]byte, error) {
	files, err := fs.Sub(extensionFiles, "extension")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	put := func(name string, data []byte) error {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(0o644)
		if bytes.HasPrefix(data, []byte("#!")) {
			h.SetMode(0o755)
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err == nil && name == "manifest.json" {
			data, err = a.manifest(data)
		}
		if err != nil {
			return err
		}
		return put(name, data)
	})
	if err == nil {
		err = put("icon.png", assets.AppIcon)
	}
	if err == nil {
		err = z.Close()
	}
	return out.Bytes(), err
}

// manifest puts the version in.
func (a about) manifest(data []byte) ([]byte, error) {
	version, err := json.Marshal(a.Version)
	if err != nil {
		return nil, err
	}
	hole := []byte(`"version": ""`)
	if bytes.Count(data, hole) != 1 {
		return nil, fmt.Errorf("the extension's manifest has no place for the version")
	}
	return bytes.Replace(data, hole, append([]byte(`"version": `), version...), 1), nil
}

func (a about) writeExtension(path string) error {
	data, err := a.extension()
	if err == nil {
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		return fmt.Errorf("making the extension for Claude Desktop: %w", err)
	}
	return nil
}
