package server

// App is the resident Handrail, which a bridge starts when it doesn't run. It is started as nobody's child: on macOS
// through LaunchServices, which keeps its rights (TCC) its own and not those of the assistant that started the bridge; on
// Linux through the user's systemd, so that it outlives the assistant.
type App struct {
	// BundleID names the bundle, for macOS.
	BundleID string
	// Executable and Args are the command, for Linux.
	Executable string
	Args       []string
}
