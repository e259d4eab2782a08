// Handrail lets the AI assistant a person already uses work on their computer, while the person keeps a hand on the rail.
//
// Without arguments it is the resident app in the menu bar. Its other commands have a file each; main only wires.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/alecthomas/kong"

	"handrail/core/hint"
	"handrail/core/server"
	"handrail/sandbox"
)

// version is set by the linker.
var version = "dev"

// commands is the command line, read by kong. The zero Run is the app.
type commands struct {
	App        appCommand        `cmd:"" default:"withargs" hidden:"" help:"The app in the menu bar."`
	Serve      serveCommand      `cmd:"" help:"Serve assistants without an app in the menu bar."`
	Stdio      stdioCommand      `cmd:"" help:"Join an assistant that starts a command to the running app."`
	Connect    connectCommand    `cmd:"" help:"Set up an assistant to start Handrail, or make it a token."`
	Disconnect disconnectCommand `cmd:"" help:"Take Handrail out of an assistant's configuration."`
	Doctor     doctorCommand     `cmd:"" help:"Look for what keeps Handrail from working here."`
	Audit      auditCommand      `cmd:"" help:"Check the activity log."`
	Rules      rulesCommand      `cmd:"" help:"List, or take back, what you always allow."`
	Switch     switchCommand     `cmd:"" help:"List, or change, what you turned on or off for each assistant."`
	Security   securityCommand   `cmd:"" help:"Look for risky settings."`
	Update     updateCommand     `cmd:"" help:"Say whether a newer version is out."`
	Search     searchCommand     `cmd:"" help:"Choose the folders whose files assistants find by what is in them."`
	Uninstall  uninstallCommand  `cmd:"" help:"List what Handrail made for you, and remove it if you agree."`
	Demo       demoCommand       `cmd:"" help:"Play the main job in a scratch folder; you answer the questions."`
	Dialog     dialogCommand     `cmd:"" hidden:"" help:"Ask one question (started by Handrail itself)."`
	Extract    extractCommand    `cmd:"" hidden:"" help:"Get the text out of a document (started by Handrail itself)."`
	Help       helpCommand       `cmd:"" help:"Show this text, or that of a command."`
	About      versionCommand    `cmd:"" name:"version" help:"Show the version."`
	Version    kong.VersionFlag
}

type helpCommand struct {
	Command []string `arg:"" optional:"" help:"The command."`
}

// Run shows what --help does.
func (c *helpCommand) Run(k *kong.Kong) error {
	_, err := k.Parse(append(c.Command, "--help")) // which ends here, if there is such a command
	return err
}

type versionCommand struct{}

// Run shows the version, and for which system it was built.
func (*versionCommand) Run() error {
	fmt.Printf("handrail %s (%s/%s, %s)\n", version, runtime.GOOS, runtime.GOARCH, runtime.Version())
	return nil
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "launch" { // inside the sandbox: before anything else
		os.Exit(sandbox.Launch(os.Args[2:]))
	}
	useLauncher()
	server.Version = version
	var c commands
	k := kong.Parse(&c, kong.Name("handrail"), kong.Vars{"version": version, "addr": server.DefaultAddr, "pairaddr": server.DefaultPairAddr},
		kong.ShortUsageOnError(),
		kong.Description("Handrail lets an AI assistant work on this computer, and asks you first.\n\nWithout a command it is the app in the menu bar, with the options of serve."))
	if err := k.Run(); err != nil {
		var h *hint.Hint
		if errors.As(err, &h) {
			err = h
		}
		fmt.Fprintln(os.Stderr, "handrail:", err)
		os.Exit(1)
	}
}
