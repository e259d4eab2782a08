package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"handrail/core/git"
	"handrail/core/grant"
	"handrail/core/hint"
)

// signInTime bounds how long the person's own helper may take: it may ask them to unlock a keychain.
const signInTime = 30 * time.Second

// errNoSignIn is in the chain of a hint where nothing is saved for a host.
var errNoSignIn = errors.New("no saved sign-in")

// signIn fetches the sign-in that the person saved for a host, from the helper that their own git settings name, as lines of
// git-credential(1). This is the one thing of git's that runs outside the sandbox: in an empty folder, so with no repository's
// settings, and for exactly the host that the person was shown. Its answer goes into a pipe to git in the sandbox and nowhere
// else.
func (w *gitWork) signIn(ctx context.Context, r git.Remote) ([]byte, error) {
	empty, err := os.MkdirTemp("", "handrail-sign-in-")
	if err != nil {
		return nil, fmt.Errorf("making a folder to sign in from: %w", err)
	}
	defer os.Remove(empty)
	if empty, err = filepath.EvalSymlinks(empty); err != nil {
		return nil, fmt.Errorf("making a folder to sign in from: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, signInTime)
	defer cancel()
	room, err := w.policy(false)
	if err != nil {
		return nil, err
	}
	room.Env = []string{"PATH=" + w.outsidePath(room)}
	program, err := room.program("git")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, "credential", "fill")
	cmd.Dir = empty
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, "GIT_") && !slices.Contains([]string{"SSH_ASKPASS", "HOME", "PATH"}, name) {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+w.gate.Home.Home, room.Env[0], "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_CEILING_DIRECTORIES="+filepath.Dir(empty))
	question := "protocol=" + r.Scheme + "\nhost=" + r.Host + "\n"
	if r.User != "" {
		question += "username=" + r.User + "\n"
	}
	cmd.Stdin = strings.NewReader(question + "\n")
	cmd.WaitDelay = time.Second
	text, err := cmd.Output() // what it says otherwise is thrown away: it may hold a secret
	if err != nil {
		return nil, noSignIn(r, err)
	}
	return signInLines(text, r)
}

// outsidePath is the search path without the folders that any command may write to: what was put there must not run outside
// the sandbox.
func (w *gitWork) outsidePath(r Room) string {
	closed := []string{w.gate.Workspace, r.Temp, r.Policy.Machine().Caches}
	for _, held := range w.gate.Grants.All() {
		for _, h := range held {
			closed = append(closed, h.Folder)
		}
	}
	return strings.Join(slices.DeleteFunc(filepath.SplitList(r.variable("PATH")), func(dir string) bool {
		real, err := filepath.EvalSymlinks(dir)
		return err != nil || !filepath.IsAbs(dir) || slices.ContainsFunc(closed, func(c string) bool { return c != "" && (grant.Within(c, real) || grant.Within(c, dir)) })
	}), string(filepath.ListSeparator))
}

// signInLines takes name and password out of the answer of `git credential fill`, which may hold more, and checks that it
// is about the host that was asked for.
func signInLines(text []byte, r git.Remote) ([]byte, error) {
	var out bytes.Buffer
	user, password := false, false
	for line := range bytes.Lines(text) {
		key, value, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte("="))
		switch string(key) {
		case "protocol", "host":
			if string(value) != map[string]string{"protocol": r.Scheme, "host": r.Host}[string(key)] {
				return nil, noSignIn(r, errors.New("the answer is for another host"))
			}
		case "username", "password":
			if bytes.ContainsAny(value, "\x00\r") || len(value) == 0 {
				return nil, noSignIn(r, errors.New("the answer is malformed"))
			}
			user, password = user || string(key) == "username", password || string(key) == "password"
			fmt.Fprintf(&out, "%s=%s\n", key, value)
		}
	}
	if !user || !password {
		return nil, noSignIn(r, errors.New("the answer has no name or no password"))
	}
	return out.Bytes(), nil
}

func noSignIn(r git.Remote, cause error) error {
	return hint.New("no_sign_in", fmt.Sprintf("nothing is saved to sign in to %s with", r.Host)).
		Then("ask the person to sign in once with git itself, in a terminal; it is kept by their credential helper").Wrap(errors.Join(errNoSignIn, cause))
}
