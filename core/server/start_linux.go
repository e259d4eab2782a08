package server

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// unit is the name of the app's transient unit: two bridges that start it at once start it once.
const unit = "handrail-app"

// Start runs the app as a transient unit of the user's systemd (systemd-run(1): --user). It returns before the app
// answers. The app gets the environment of the user's session, not that of the client.
func (a App) Start() error {
	systemdRun, err := exec.LookPath("systemd-run")
	if err != nil {
		return errors.New("there is no systemd-run to start it with")
	}
	cmd := exec.Command(systemdRun, append([]string{"--user", "--quiet", "--collect", "--unit=" + unit, "--", a.Executable}, a.Args...)...)
	cmd.Env = withUserBus(os.Environ())
	text, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("starting it through systemd: %w: %s", err, strings.TrimSpace(string(text)))
	}
	return nil
}

// withUserBus says where the user's systemd is, for clients that start commands with next to no environment.
func withUserBus(env []string) []string {
	for _, e := range env {
		if strings.HasPrefix(e, "XDG_RUNTIME_DIR=") {
			return env
		}
	}
	return append(env, "XDG_RUNTIME_DIR=/run/user/"+strconv.Itoa(os.Getuid()))
}
