// Package assets holds the bytes that Handrail shows: icons and words. It imports nothing of the project.
//
// icons/*.svg are the sources, drawn for this project; the PNG files beside them are rendered from them by
//
//	go generate ./assets
//
// and a test fails when a PNG isn't what its SVG gives. The files tray-*.png are macOS template images: black, with the
// shape in the alpha channel, so that the system colours them for a light or dark menu bar. The files tile-*.png show the
// same shapes on a tile, for panels that colour nothing.
//
// translations/*.json are message files of go-i18n, one a language, named by its BCP 47 tag. English is complete by
// definition; a test holds the others to it.
package assets

import "embed"

//go:generate go test -run ^TestIcons$ . -update

// Translations holds translations/en.json and translations/th.json.
//
//go:embed translations/*.json
var Translations embed.FS

// AppIcon is the application's icon, a PNG of 256×256 pixels.
//
//go:embed icons/app-256.png
var AppIcon []byte

// The menu bar's template icons, PNG of 64×64 pixels: nothing happens, a command or call runs, a question waits.
var (
	//go:embed icons/tray-idle.png
	TrayIdle []byte
	//go:embed icons/tray-working.png
	TrayWorking []byte
	//go:embed icons/tray-waiting.png
	TrayWaiting []byte
)

// The same three on a tile, for panels that don't know template icons (Linux).
var (
	//go:embed icons/tile-idle.png
	TileIdle []byte
	//go:embed icons/tile-working.png
	TileWorking []byte
	//go:embed icons/tile-waiting.png
	TileWaiting []byte
)
