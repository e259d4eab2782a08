package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"handrail/core/hint"
)

const (
	patience  = 10 * time.Second // for a program to end
	opensIn   = 3 * time.Second  // for one that may stay: no error by then is success
	maxPasted = 256 << 10        // bytes
)

// passed are the variables that a program needs to find the person's desktop. Nothing that names a program (BROWSER, PATH) or
// changes how one is loaded is among them.
var passed = []string{"HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
	"XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE", "DESKTOP_SESSION", "XDG_DATA_DIRS", "XDG_CONFIG_DIRS", "__CF_USER_TEXT_ENCODING"}

// start runs a program of the system.
func start(ctx context.Context, p Program) (string, error) { return startOwned(ctx, p, 0) }

// startOwned runs a program that this user (0: root) owns and nobody else can change.
func startOwned(ctx context.Context, p Program, owner int) (string, error) {
	path, err := trusted(p.Path, owner)
	if err != nil {
		return "", err
	}
	cmd := exec.Command(path, p.Args...)
	cmd.Args[0] = filepath.Base(p.Path)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin"}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); slices.Contains(passed, name) {
			cmd.Env = append(cmd.Env, v)
		}
	}
	if p.Stdin != "" {
		cmd.Stdin = strings.NewReader(p.Stdin)
	}
	cmd.SysProcAttr = ownSession
	var out bounded
	if p.Reads { // others may leave a process behind that holds its output open
		cmd.Stdout = &out
		cmd.WaitDelay = time.Second
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	wait := patience
	if p.Stays {
		wait = opensIn
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case err = <-ended:
	case <-timer.C:
		if p.Stays {
			return "", nil
		}
		cmd.Process.Kill()
		<-ended
		return "", fmt.Errorf("it didn't end within %v", wait)
	case <-ctx.Done():
		cmd.Process.Kill()
		<-ended
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", err
	}
	if out.over {
		return "", hint.New("too_long", "the clipboard holds too much").Because(fmt.Sprintf("at most %d bytes are given", maxPasted))
	}
	if utf8.Valid(out.text) {
		return string(out.text), nil
	}
	return "", hint.New("not_text", "the clipboard holds no text")
}

// bounded keeps the beginning of what is written.
type bounded struct {
	text []byte
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	left := min(maxPasted-len(b.text), len(p))
	b.text = append(b.text, p[:left]...)
	b.over = b.over || left < len(p)
	return len(p), nil
}

var errUntrusted = errors.New("it isn't a program of the system")

// trusted gives the file that a program's path leads to, if nobody but the owner and root could have put it there.
func trusted(path string, owner int) (string, error) {
	if !filepath.IsAbs(path) {
		return "", errUntrusted
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", hint.New("not_found", filepath.Base(path)+" is not installed").Then("tell the person")
	}
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errUntrusted
	}
	for at := real; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return "", err
		}
		shared := info.Mode()&0o022 != 0 && info.Mode()&os.ModeSticky == 0
		if uid, ok := ownerOf(info); !ok || uid != 0 && uid != owner || shared {
			return "", errUntrusted
		}
		if at == filepath.Dir(at) {
			return real, nil
		}
	}
}
