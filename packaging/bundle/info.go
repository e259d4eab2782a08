package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/pelletier/go-toml/v2"
	"howett.net/plist"

	"handrail/assets"
)

const iconFile = "Handrail.icns"

// languages are those of assets/translations.
var languages = []string{"en", "th"}

// about is what FyneApp.toml and git say of the app.
type about struct {
	Name, ID, Icon string
	Version        string // three numbers
	Build          int
	MinimumMacOS   string
}

var release = regexp.MustCompile(`^v?(\d+\.\d+\.\d+)`)

// readAbout reads FyneApp.toml. A version that git doesn't know yet is the one that stands there.
func readAbout(source, version string, build int) (about, error) {
	var f struct {
		Details struct {
			Name, ID, Icon, Version string
			Build                   int
		}
		Release struct{ MinimumMacOS string }
	}
	text, err := os.ReadFile(filepath.Join(source, "FyneApp.toml"))
	if err == nil {
		err = toml.Unmarshal(text, &f)
	}
	if err != nil {
		return about{}, fmt.Errorf("reading what FyneApp.toml says of the app: %w", err)
	}
	a := about{Name: f.Details.Name, ID: f.Details.ID, Icon: f.Details.Icon, Version: f.Details.Version, Build: max(build, f.Details.Build), MinimumMacOS: f.Release.MinimumMacOS}
	if m := release.FindStringSubmatch(version); m != nil {
		a.Version = m[1]
	}
	for name, value := range map[string]string{"Name": a.Name, "ID": a.ID, "Icon": a.Icon, "Version": a.Version, "MinimumMacOS": a.MinimumMacOS} {
		if value == "" {
			return a, fmt.Errorf("FyneApp.toml has no %s", name)
		}
	}
	return a, nil
}

// usage says which keys of Info.plist explain, in the system's own question, why a folder is opened, and the message of
// assets/translations that does. We send no Apple events and use neither camera nor microphone, so no other text is there.
var usage = map[string]string{
	"NSDesktopFolderUsageDescription":    "bundle_desktop",
	"NSDocumentsFolderUsageDescription":  "bundle_documents",
	"NSDownloadsFolderUsageDescription":  "bundle_downloads",
	"NSNetworkVolumesUsageDescription":   "bundle_volumes",
	"NSRemovableVolumesUsageDescription": "bundle_volumes",
}

// info is Info.plist. LSMultipleInstancesProhibited isn't set: it would keep a second user of the Mac from starting the
// app. LSEnvironment isn't set: nothing of ours is set by a variable.
func (a about) info() ([]byte, error) {
	texts, err := messages("en")
	if err != nil {
		return nil, err
	}
	values := map[string]any{
		"CFBundleDevelopmentRegion":     "en",
		"CFBundleDisplayName":           a.Name,
		"CFBundleExecutable":            programs[0],
		"CFBundleIconFile":              iconFile,
		"CFBundleIdentifier":            a.ID,
		"CFBundleInfoDictionaryVersion": "6.0",
		"CFBundleLocalizations":         languages,
		"CFBundleName":                  a.Name,
		"CFBundlePackageType":           "APPL",
		"CFBundleShortVersionString":    a.Version,
		"CFBundleSupportedPlatforms":    []string{"MacOSX"},
		"CFBundleVersion":               fmt.Sprint(a.Build),
		"LSApplicationCategoryType":     "public.app-category.developer-tools",
		"LSMinimumSystemVersion":        a.MinimumMacOS,
		"LSUIElement":                   true, // in the menu bar, not in the Dock
		"NSHighResolutionCapable":       true,
		"NSPrincipalClass":              "NSApplication",
	}
	for key, text := range texts {
		values[key] = text
	}
	return plist.MarshalIndent(values, plist.XMLFormat, "\t")
}

// translated is a language's InfoPlist.strings.
func translated(language string) ([]byte, error) {
	texts, err := messages(language)
	if err != nil {
		return nil, err
	}
	return plist.MarshalIndent(texts, plist.XMLFormat, "\t")
}

// messages gives the usage texts in a language, by their keys in Info.plist.
func messages(language string) (map[string]string, error) {
	name := "translations/" + language + ".json"
	data, err := assets.Translations.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all map[string]any // a message is a string, or has plural forms
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	texts := map[string]string{}
	for key, id := range usage {
		text, _ := all[id].(string)
		if text == "" {
			return nil, fmt.Errorf("%s has no %s", name, id)
		}
		texts[key] = text
	}
	return texts, nil
}
