// Bundle makes Handrail.app out of executables that were built for macOS, one folder an architecture. It runs on any
// system; it signs nothing.
//
//	go run ./packaging/bundle -version v1.2.3 -build 45 -out build/Handrail.app build/darwin-arm64 build/darwin-amd64
//
//	Handrail.app/Contents/
//	  Info.plist                        info.go
//	  PkgInfo
//	  MacOS/handrail, handrail-ui       universal.go: each for all architectures
//	  Resources/Handrail.icns           from assets/icons
//	  Resources/en.lproj, th.lproj      what the system says for us: why we open the person's folders
//
// With -extension FILE it makes the extension for Claude Desktop as well, and alone if no folder is given: extension.go.
//
// The tests read a bundle as the system would; with -app PATH they read one that was made before.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"os"
	"path/filepath"

	"github.com/jackmordaunt/icns/v3"
)

// programs are the executables of a bundle. The first is what a click on the app starts.
var programs = []string{"handrail", "handrail-ui"}

func main() {
	log := func(err error) {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
	version := flag.String("version", "", "version, as git describes it")
	build := flag.Int("build", 0, "number that grows with each build")
	out := flag.String("out", "build/Handrail.app", "bundle to make")
	extension := flag.String("extension", "", "extension to make")
	flag.Parse()
	about, err := readAbout(".", *version, *build)
	if err == nil && *extension != "" {
		if err = about.writeExtension(*extension); err == nil && flag.NArg() == 0 {
			fmt.Printf("%s: version %s\n", *extension, about.Version)
			return
		}
	}
	if err == nil {
		err = assemble(*out, ".", about, flag.Args())
	}
	if err != nil {
		log(err)
	}
	fmt.Printf("%s: version %s (%d), macOS %s or newer\n", *out, about.Version, about.Build, about.MinimumMacOS)
}

// assemble makes the bundle app from folders that hold the programs. source is the folder of FyneApp.toml. What is at app
// is replaced.
func assemble(app, source string, about about, folders []string) error {
	if len(folders) == 0 {
		return errors.New("making a bundle: no folder with executables")
	}
	contents := filepath.Join(app, "Contents")
	if err := os.RemoveAll(app); err != nil {
		return err
	}
	put := func(name string, data []byte, mode os.FileMode) error {
		path := filepath.Join(contents, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, data, mode)
	}
	for _, name := range programs {
		var slices [][]byte
		for _, folder := range folders {
			data, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				return err
			}
			slices = append(slices, data)
		}
		fat, err := universal(slices)
		if err != nil {
			return fmt.Errorf("joining %s for all architectures: %w", name, err)
		}
		if err := put("MacOS/"+name, fat, 0o755); err != nil {
			return err
		}
	}
	icon, err := os.ReadFile(filepath.Join(source, about.Icon))
	if err != nil {
		return err
	}
	img, err := png.Decode(bytes.NewReader(icon))
	if err != nil {
		return fmt.Errorf("reading %s: %w", about.Icon, err)
	}
	var set bytes.Buffer
	if err := icns.NewEncoder(&set).WithAlgorithm(icns.Bicubic).Encode(img); err != nil {
		return fmt.Errorf("making the icon: %w", err)
	}
	info, err := about.info()
	if err != nil {
		return err
	}
	files := map[string][]byte{"Info.plist": info, "PkgInfo": []byte("APPL????"), "Resources/" + iconFile: set.Bytes()}
	for _, language := range languages {
		if files["Resources/"+language+".lproj/InfoPlist.strings"], err = translated(language); err != nil {
			return err
		}
	}
	for name, data := range files {
		if err := put(name, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
