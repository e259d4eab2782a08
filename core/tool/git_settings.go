package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"handrail/core/git"
	"handrail/core/hint"
)

// remotes lists the remotes without the passwords that may stand in their addresses.
func (w *gitWork) remotes() answer {
	out := GitOutput{Repository: w.repo.Top}
	out.ExitCode = new(int)
	var lines []string
	for _, name := range git.Remotes(w.settings) {
		for _, s := range w.settings {
			if s.Key != "remote."+name+".url" && s.Key != "remote."+name+".pushurl" {
				continue
			}
			line := name + " " + when(strings.HasSuffix(s.Key, ".pushurl"), "(push) ")
			if r, err := git.ParseRemote(s.Value); err != nil {
				line += "(an address that isn't used: " + err.Error() + ")"
			} else {
				line += r.Address
			}
			lines = append(lines, line)
		}
	}
	out.Stdout = strings.Join(lines, "\n")
	if out.Stdout == "" {
		return answer{"there are no remotes", out}
	}
	return answer{out.Stdout, out}
}

// change changes which remotes and upstreams there are.
func (w *gitWork) change(ctx context.Context, a git.Args, cmd git.Command) (answer, error) {
	var edits [][2]string
	done := ""
	_, known := git.Last(w.settings, "remote."+a.Name+".url")
	switch {
	case cmd.Action == "branch":
		if _, err := w.query(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+a.Name); err != nil {
			return answer{}, hint.New("not_found", fmt.Sprintf("there is no branch %q", a.Name)).Then("look with action branch")
		}
		if _, ok := git.Last(w.settings, "remote."+a.Remote+".url"); !ok {
			return answer{}, hint.New("not_found", fmt.Sprintf("there is no remote %q", a.Remote)).Then("look with action remote")
		}
		branch := a.Name
		if a.Ref != "" {
			branch = strings.TrimPrefix(a.Ref, a.Remote+"/")
		}
		edits = w.follows(a.Name, a.Remote, branch)
		done = fmt.Sprintf("branch %s follows %s/%s now", a.Name, a.Remote, branch)
	case cmd.Mode == "add" && known:
		return answer{}, hint.New("exists", fmt.Sprintf("there is a remote %q", a.Name)).Then("use mode set_url to change its address")
	case cmd.Mode == "set_url" && !known:
		return answer{}, hint.New("not_found", fmt.Sprintf("there is no remote %q", a.Name)).Then("use mode add")
	default:
		r, err := usable(a.URL)
		if err != nil {
			return answer{}, err
		}
		edits = [][2]string{{"remote." + a.Name + ".url", a.URL}}
		if cmd.Mode == "add" {
			edits = append(edits, [2]string{"remote." + a.Name + ".fetch", "+refs/heads/*:refs/remotes/" + a.Name + "/*"})
		}
		done = fmt.Sprintf("remote %s is %s now", a.Name, r.Address)
	}
	if err := w.write(ctx, edits); err != nil {
		return answer{}, err
	}
	out := GitOutput{Repository: w.repo.Top}
	out.ExitCode = new(int)
	return answer{done, out}, nil
}

func (w *gitWork) follows(branch, remote, theirs string) [][2]string {
	return [][2]string{{"branch." + branch + ".remote", remote}, {"branch." + branch + ".merge", "refs/heads/" + theirs}}
}

// usable reads an address that a model gives.
func usable(address string) (git.Remote, error) {
	r, err := git.ParseRemote(address)
	switch {
	case err != nil:
		return r, hint.New("bad_address", "this address can't be used").Because(err.Error()).Then("use an https address, or a folder in the workspace")
	case r.Secret:
		return r, hint.New("bad_address", "the address holds a password").Because("it would stand in files and process lists for anyone to read").Then("leave it out; git uses the sign-in that the person saved")
	}
	return r, nil
}

const (
	maxSettings = 1 << 20
	lockName    = "config.lock" // git's own: no git changes the file meanwhile
)

// write puts settings into the repository's config, which no command may change. Git makes the new text from a copy, and it
// takes the place of the old one only if nothing but remotes, upstreams and plain settings of storage differ. No process runs
// while git's lock is held, so none that is killed leaves it.
func (w *gitWork) write(ctx context.Context, edits [][2]string) error {
	root, err := os.OpenRoot(w.repo.Common)
	if err != nil {
		return notThere(w.repo.Common, err)
	}
	defer root.Close()
	text, mode, err := readWhole(root, "config")
	if err != nil {
		return err
	}
	fresh, err := w.edited(ctx, text, edits)
	if err != nil {
		return err
	}
	before, err := w.parse(ctx, text)
	if err != nil {
		return err
	}
	after, err := w.parse(ctx, fresh)
	if err != nil {
		return err
	}
	if changed := git.Changed(before, after); len(changed) > 0 {
		return hint.New("settings_kept", "the repository's settings were left as they were").
			Because("more than remotes and upstreams would have changed: " + strings.Join(changed, ", "))
	}
	if err := replaceConfig(root, text, fresh, mode); err != nil {
		return notThere(filepath.Join(w.repo.Common, "config"), err)
	}
	return nil
}

// replaceConfig writes a config under git's lock, if it still holds what it did.
func replaceConfig(root *os.Root, old, fresh []byte, mode fs.FileMode) (err error) {
	lock, err := root.OpenFile(lockName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return hint.New("busy", "another git changes the settings of this repository").Because("there is a file config.lock in its Git folder").
			Then("try again; if none runs, the person can remove the file")
	}
	if err != nil {
		return err
	}
	defer func() {
		if lock.Close(); err != nil {
			root.Remove(lockName)
		}
	}()
	now, _, err := readWhole(root, "config")
	if err != nil {
		return err
	}
	if !bytes.Equal(now, old) {
		return hint.New("changed", "the repository's settings changed meanwhile").Then("try again")
	}
	if _, err := lock.Write(fresh); err != nil {
		return err
	}
	if err := errors.Join(lock.Chmod(mode), lock.Sync()); err != nil {
		return err
	}
	return root.Rename(lockName, "config")
}

// readWhole reads a file of settings, which must be a file of its own.
func readWhole(root *os.Root, name string) (text []byte, mode fs.FileMode, err error) {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSettings {
		return nil, 0, hint.New("broken_repository", "the repository's settings can't be read").Because("its config is missing, no plain file, or too long").Wrap(err)
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a command may have put a pipe there since
	if err != nil {
		return nil, 0, notThere(name, err)
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return nil, 0, hint.New("changed", "the repository's settings changed meanwhile").Then("try again").Wrap(err)
	}
	text, err = io.ReadAll(io.LimitReader(f, maxSettings))
	return text, info.Mode().Perm(), err
}

// edited gives a config's text with settings changed, by git in the session's own folder.
func (w *gitWork) edited(ctx context.Context, text []byte, edits [][2]string) ([]byte, error) {
	r, err := w.policy(true)
	if err != nil {
		return nil, err
	}
	copied, err := os.CreateTemp(r.Temp, "git-config-")
	if err != nil {
		return nil, notThere(r.Temp, err)
	}
	defer os.Remove(copied.Name())
	_, err = copied.Write(text)
	if err = errors.Join(err, copied.Close()); err != nil {
		return nil, notThere(r.Temp, err)
	}
	for _, e := range edits {
		j, err := w.startJob(ctx, r, []string{w.program, "config", "-f", copied.Name(), "--replace-all", e[0], e[1]}, w.environment(r, true, "none", nil), nil)
		_, errs, exit, err := w.output(ctx, j, err)
		if err == nil && exit != 0 {
			err = gitSaid(errs)
		}
		if err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(r.Temp)
	if err != nil {
		return nil, notThere(r.Temp, err)
	}
	defer root.Close()
	fresh, _, err := readWhole(root, filepath.Base(copied.Name()))
	return fresh, err
}

// parse reads a config's text as git does, without the files that it includes.
func (w *gitWork) parse(ctx context.Context, text []byte) ([]git.Setting, error) {
	r, err := w.policy(false)
	if err != nil {
		return nil, err
	}
	j, err := w.startJob(ctx, r, []string{w.program, "config", "-f", "-", "--no-includes", "--list", "-z"}, w.environment(r, false, "none", nil), slices.Concat(text, []byte("\n")))
	out, errs, exit, err := w.output(ctx, j, err)
	if err != nil {
		return nil, err
	}
	if exit != 0 {
		return nil, gitSaid(errs)
	}
	settings, err := git.ParseSettings(out, false)
	if err != nil {
		return nil, hint.New("git_failed", "the repository's settings can't be read").Wrap(err)
	}
	return settings, nil
}
