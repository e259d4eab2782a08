package core

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// usual are the folders of programs that a person expects to find, also when the app was started without a shell.
var usual = []string{"/opt/homebrew/bin", "/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"}

// searchPath is the person's PATH as their login shell sets it, then our own, then the usual folders: absolute and without
// repeats. An app that was started from its icon has a short PATH of its own.
func searchPath(login []string) []string {
	var path []string
	seen := map[string]bool{}
	for _, dir := range append(append(login, filepath.SplitList(os.Getenv("PATH"))...), usual...) {
		if filepath.IsAbs(dir) && !seen[filepath.Clean(dir)] {
			seen[filepath.Clean(dir)] = true
			path = append(path, filepath.Clean(dir))
		}
	}
	return path
}

// loginTime is how long the person's shell may take to start.
const loginTime = 5 * time.Second

// loginPath asks the person's own login shell for its PATH; nil if it doesn't tell in time. The shell runs as it does in
// their terminal, outside the sandbox: what its start-up files do is theirs. It gets no variable of ours but those named here,
// and nothing but PATH is taken from it. Standard input is empty and standard error goes nowhere.
func loginPath(ctx context.Context, shell, home string) []string {
	if !filepath.IsAbs(shell) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	const mark = "handrail-path:"
	// Start-up files may print what they like, so the line is marked. env is asked, since shells write lists differently.
	cmd := exec.CommandContext(ctx, shell, "-l", "-c", `/bin/echo; /usr/bin/env | /usr/bin/sed -n 's/^PATH=/`+mark+`/p'`)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "SHELL=" + shell, "TERM=dumb", "PATH=/usr/bin:/bin:/usr/sbin:/sbin", "USER=" + os.Getenv("USER"), "LOGNAME=" + os.Getenv("LOGNAME")}
	ownGroup(cmd)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(out)) {
		if list, ok := strings.CutPrefix(strings.TrimSpace(line), mark); ok {
			return filepath.SplitList(list)
		}
	}
	return nil
}
