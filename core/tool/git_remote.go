package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"handrail/core/approval"
	"handrail/core/git"
	"handrail/core/grant"
	"handrail/core/hint"
	"handrail/core/job"
	"handrail/sandbox"
)

// head gives the branch that is checked out, "" where HEAD is detached, and whether it has a commit.
func (w *gitWork) head(ctx context.Context) (branch string, born bool) {
	if name, err := w.query(ctx, "symbolic-ref", "--quiet", "--short", "HEAD"); err == nil {
		branch = strings.TrimSpace(name)
	}
	_, err := w.query(ctx, "rev-parse", "--verify", "--quiet", "HEAD")
	return branch, err == nil
}

// remote finds the remote that a command means: the one it names, that of the branch, or origin.
func (w *gitWork) remote(name, branch string, pushes bool) (string, git.Remote, error) {
	if name == "" {
		of, _ := git.Last(w.settings, "branch."+branch+".remote")
		if pushes {
			general, _ := git.Last(w.settings, "remote.pushdefault")
			own, _ := git.Last(w.settings, "branch."+branch+".pushremote")
			of = cmp.Or(own, general, of)
		}
		if name = of; name == "" || name == "." {
			name = "origin"
		}
	}
	address, err := git.RemoteOf(w.settings, name, pushes)
	if err != nil {
		h := hint.New("no_remote", err.Error())
		if known := git.Remotes(w.settings); len(known) > 0 {
			return name, git.Remote{}, h.Then("the remotes are " + strings.Join(known, ", "))
		}
		return name, git.Remote{}, h.Then("add one with action remote, mode add")
	}
	r, err := git.ParseRemote(address)
	if err != nil {
		return name, r, hint.New("bad_address", fmt.Sprintf("the address of the remote %q can't be used", name)).Because(err.Error()).Then("use an https address, or a folder in the workspace")
	}
	if hazards := git.Hazards(w.settings); len(hazards) > 0 {
		return name, r, hint.New("unsafe_settings", "this repository's settings keep git from the network").
			Because("they change where it connects to, or run programs: " + strings.Join(hazards, ", ")).Then("only the person can change them")
	}
	return name, r, nil
}

// reach asks, where that is needed, for the way to a remote. For a folder it gives the one that it is.
func (w *gitWork) reach(ctx context.Context, r *git.Remote, pushes bool) error {
	g, c := w.gate, w.call
	switch r.Reach {
	case git.SSH:
		return withoutSSH(*r)
	case git.HTTPS:
		_, err := g.judge(ctx, c, w.reaching(grant.Network, *r))
		return err
	case git.Loopback:
		_, err := g.judge(ctx, c, w.reaching(grant.Loopback, *r))
		return err
	case git.Folder:
	default:
		return hint.New("bad_address", "this address can't be used")
	}
	path := r.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.dir(), path)
	}
	at, err := g.locate(path, g.Workspace, true)
	if err != nil {
		return err
	}
	w.places = append(w.places, at)
	room, err := g.room(c.Session)
	if err != nil {
		return err
	}
	repo, err := git.Find(at.real, at.real)
	if err != nil {
		return hint.New("no_repository", fmt.Sprintf("there is no repository at %q", at.real)).Wrap(err)
	}
	for _, folder := range repo.Folders() {
		if !room.Policy.Decide(sandbox.Read, folder).Allowed {
			return outsideRepository(folder)
		}
	}
	r.Path, w.other = at.real, repo.Dir
	if !pushes {
		return nil
	}
	if at.unit.Outside && !g.covers(c.Session, grant.Edit, at) {
		return outsideRepository(at.real)
	}
	_, err = g.judge(ctx, c, effect{kind: write, place: at})
	return err
}

// withoutSSH refuses a remote over SSH: an agent signs for whoever reaches its socket, and keys can't be bounded to one host
// and one repository as a saved sign-in is. It says where the same repository is served over https, as all large hosts do.
func withoutSSH(r git.Remote) error {
	host, _, _ := strings.Cut(r.Host, ":") // the port is that of SSH
	return hint.New("no_ssh", fmt.Sprintf("%s is reached with SSH keys, which aren't available here", r.Host)).
		Because("a program that may use them can sign in anywhere as the person").
		Then(fmt.Sprintf("use its https address, most likely https://%s/%s (action remote, mode set_url, or mode add under another name; for clone as url), or ask the person to do this themselves in a terminal",
			host, strings.TrimPrefix(r.Path, "/")))
}

func (w *gitWork) reaching(what grant.Reach, r git.Remote) effect {
	return effect{kind: reach, place: w.places[0], way: way{reach: what, host: r.Host, address: r.Address}}
}

// receive is how the other repository is written to where it is a folder of this computer: without what its own settings
// and hooks would run there.
const (
	receive = "receive-pack -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.alternateRefsCommand=true -c receive.autogc=false -c gc.auto=0 -c maintenance.auto=false " +
		"-c receive.denyCurrentBranch=refuse -c receive.denyDeletes=true -c receive.denyNonFastForwards=true"
	upload = "upload-pack -c core.hooksPath=/dev/null -c core.fsmonitor=false"
)

// serving gives the option that names the shell command which git starts for a remote that is a folder; none for another
// remote. The command hears of no setting but these; that the folder may belong to someone else is one (safe.directory in
// git-config(1)), and what it runs is bounded like all else.
func serving(command string, r git.Remote) []string {
	if r.Reach != git.Folder {
		return nil
	}
	name, settings, _ := strings.Cut(command, " ")
	for _, dir := range []string{r.Path, strings.TrimPrefix(r.Address, "file://")} { // git compares it as it was written
		settings += " -c safe.directory='" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	}
	return []string{"--" + name + "=git " + settings + " " + name}
}

// withSignIn runs a command whose descriptor 3 is what its standard input was: the sign-in, which can be read once.
const withSignIn = `exec 3<&0 </dev/null; exec "$@"`

// signInHelper answers git's question for a sign-in (gitcredentials(7)) with what can be read from descriptor 3.
const signInHelper = `!f() { test "$1" = get && cat <&3; }; f`

// connect starts a command of git that may reach r, and nothing else. signIn is empty or what its helper gives to git.
func (w *gitWork) connect(ctx context.Context, r git.Remote, signIn []byte, argv ...string) (*job.Job, error) {
	room, err := w.policy(true)
	if err != nil {
		return nil, err
	}
	settings := w.neutral(false)
	line := append([]string{w.program}, argv...)
	var input []byte
	if len(signIn) > 0 {
		settings = append(settings, git.Setting{Key: "credential." + r.Scheme + "://" + r.Host + ".helper", Value: signInHelper})
		line, input = append([]string{"/bin/sh", "-c", withSignIn, "sh"}, line...), signIn
	}
	return w.startJob(ctx, room, line, w.environment(room, true, r.Scheme, settings), input)
}

// wait waits for a job as long as the client does.
func (w *gitWork) wait(ctx context.Context, j *job.Job) (ended bool) {
	defer w.call.keepAlive("Git is connected to the remote")()
	defer w.call.stream(j)()
	select {
	case <-j.Done():
	case <-ctx.Done():
		j.Stop(job.Cancelled)
		<-j.Done()
	case <-time.After(w.call.left()):
		j.Hand()
	}
	return !j.Running()
}

// unsigned are git's words where a server wants a sign-in.
var unsigned = []string{"could not read username", "could not read password", "authentication failed", "terminal prompts disabled"}

func wantsSignIn(j *job.Job) bool {
	if j.Result().ExitCode == 0 {
		return false
	}
	said := strings.ToLower(string(j.Output.Stream(job.Stderr).Head))
	return slices.ContainsFunc(unsigned, func(s string) bool { return strings.Contains(said, s) })
}

// bring runs a command that fetches: without a sign-in first, and with the person's if the server wants one and they agree.
func (w *gitWork) bring(ctx context.Context, r git.Remote, argv ...string) (*job.Job, error) {
	j, err := w.connect(ctx, r, nil, argv...)
	if err != nil || !w.wait(ctx, j) || !wantsSignIn(j) || r.Reach == git.Folder {
		return j, err
	}
	if _, err := w.gate.judge(ctx, w.call, w.reaching(grant.SignIn, r)); err != nil {
		return nil, err
	}
	signIn, err := w.signIn(ctx, r)
	if err != nil {
		return nil, err
	}
	if j, err = w.connect(ctx, r, signIn, argv...); err == nil {
		w.wait(ctx, j)
	}
	return j, err
}

// fetch brings what the remote has, and for pull puts it into the branch, in a second step that has no network.
func (w *gitWork) fetch(ctx context.Context, a git.Args, cmd git.Command) (answer, error) {
	branch, born := w.head(ctx)
	if cmd.Action == "pull" {
		switch underway := w.repo.Underway(); {
		case branch == "":
			return answer{}, hint.New("detached", "HEAD is detached: there is no branch to pull into").Then("switch to a branch first")
		case underway != "":
			return answer{}, hint.New("underway", fmt.Sprintf("a %s is underway", underway)).Then("finish or abort it first; see action status")
		}
	}
	name, r, err := w.remote(a.Remote, branch, false)
	if err != nil {
		return answer{}, err
	}
	theirs := a.Name
	if cmd.Action == "pull" && theirs == "" {
		merge, _ := git.Last(w.settings, "branch."+branch+".merge")
		theirs = cmp.Or(strings.TrimPrefix(merge, "refs/heads/"), branch)
	}
	if err := w.reach(ctx, &r, false); err != nil {
		return answer{}, err
	}
	argv := slices.Concat([]string{"fetch", "--no-auto-maintenance", "--no-recurse-submodules", "--no-write-fetch-head"}, serving(upload, r), []string{"--", name})
	if theirs != "" {
		argv = append(argv, "+refs/heads/"+theirs+":refs/remotes/"+name+"/"+theirs)
	}
	j, err := w.bring(ctx, r, argv...)
	if err != nil {
		return answer{}, err
	}
	fetched := w.explain(w.gate.report(j), j)
	if cmd.Action == "fetch" || j.Running() || j.Result().ExitCode != 0 || j.Result().Stopped != "" {
		return fetched, nil
	}
	from := "refs/remotes/" + name + "/" + theirs
	next := git.Args{Action: "merge", Mode: "start", Ref: from}
	if cmd.Mode == "rebase" && born {
		next.Action = "rebase"
	}
	step, err := next.Command()
	if err != nil {
		return answer{}, err
	}
	if !born || cmd.Mode == "ff_only" {
		if err := w.open(ctx, next, step); err != nil {
			return answer{}, err
		}
		return w.then(ctx, fetched, []string{"merge", "--ff-only", "--no-verify", from})
	}
	if err := w.guard(ctx, next, step); err != nil {
		return answer{}, err
	}
	return w.then(ctx, fetched, step.Argv(next))
}

// then runs a further command and puts what the first one said before its answer.
func (w *gitWork) then(ctx context.Context, first answer, argv []string) (answer, error) {
	j, err := w.start(ctx, argv, nil, true, false)
	if err != nil {
		return answer{}, err
	}
	done, err := w.gate.follow(ctx, w.call, j)
	if err != nil {
		return answer{}, err
	}
	done = w.explain(done, j)
	if first.text != nothingSaid {
		done.text = strings.TrimSpace(first.text) + "\n" + done.text
	}
	return done, nil
}

// push sends a branch to the branch of the same name, after the person saw which commits go where.
func (w *gitWork) push(ctx context.Context, a git.Args) (answer, error) {
	current, _ := w.head(ctx)
	branch := cmp.Or(a.Name, current)
	if branch == "" {
		return answer{}, hint.New("detached", "HEAD is detached: there is no branch to push").Then("name the branch, or make one with action switch, mode create")
	}
	tip, err := w.query(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch+"^{commit}")
	if tip = strings.TrimSpace(tip); err != nil {
		return answer{}, hint.New("not_found", fmt.Sprintf("there is no commit on a branch %q", branch)).Then("look with action branch")
	}
	name, r, err := w.remote(a.Remote, branch, true)
	if err != nil {
		return answer{}, err
	}
	way, upToDate, err := w.sending(ctx, name, branch, tip, r)
	if err != nil {
		return answer{}, err
	}
	if upToDate {
		said := fmt.Sprintf("Everything up-to-date: %s has all of branch %s, as far as is known from the last fetch or push; nothing was sent", name, branch)
		out := GitOutput{CommandOutput: CommandOutput{Stdout: said, ExitCode: new(int)}, Repository: w.repo.Top, Underway: w.repo.Underway()}
		return answer{said, out}, nil
	}
	shown := way.address
	if err := w.reach(ctx, &r, true); err != nil {
		return answer{}, err
	}
	if r.Reach == git.Folder {
		way.address = r.Path
	}
	if _, err := w.gate.judge(ctx, w.call, effect{kind: push, place: w.places[0], way: way}); err != nil {
		return answer{}, err
	}
	// What was shown is what is done: this commit, sent by its own name, to this address.
	if err := w.learn(ctx); err != nil {
		return answer{}, err
	}
	if _, now, err := w.remote(name, branch, true); err != nil || now.Address != shown {
		return answer{}, hint.New("changed", "the remote's address has changed since the person was asked").Then("make the call again: they will be asked again").Wrap(err)
	}
	if now, err := w.query(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch+"^{commit}"); err != nil || strings.TrimSpace(now) != tip {
		return answer{}, hint.New("changed", fmt.Sprintf("branch %q has changed since the person was asked", branch)).Then("make the call again: they will be asked again").Wrap(err)
	}
	var signIn []byte
	if r.Reach != git.Folder {
		if signIn, err = w.signIn(ctx, r); err != nil && !errors.Is(err, errNoSignIn) {
			return answer{}, err
		}
	}
	j, err := w.connect(ctx, r, signIn, slices.Concat([]string{"push", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no"}, serving(receive, r),
		[]string{"--", name, tip + ":refs/heads/" + branch})...)
	if err != nil {
		return answer{}, err
	}
	w.wait(ctx, j)
	done := w.explain(w.gate.report(j), j)
	if _, follows := git.Last(w.settings, "branch."+branch+".merge"); !follows && !j.Running() && j.Result().ExitCode == 0 && j.Result().Stopped == "" {
		if err := w.write(ctx, w.follows(branch, name, branch)); err == nil {
			done.text = strings.TrimSpace(strings.TrimSpace(done.text) + "\nbranch " + branch + " follows " + name + "/" + branch + " now")
		}
	}
	return done, nil
}

// sending tells what a push would send, as far as is known here, or that there is nothing, and refuses one that can't go through.
func (w *gitWork) sending(ctx context.Context, name, branch, tip string, r git.Remote) (out way, upToDate bool, _ error) {
	out = way{host: r.Host, address: r.Address, remote: name, branch: branch, commit: tip}
	there, err := w.query(ctx, "rev-parse", "--verify", "--quiet", "refs/remotes/"+name+"/"+branch)
	if there = strings.TrimSpace(there); err != nil {
		out.newBranch = true
	} else if there == tip {
		return out, true, nil
	} else if _, err := w.query(ctx, "merge-base", "--is-ancestor", there, tip); err != nil {
		return out, false, hint.New("diverged", fmt.Sprintf("%s has commits on %q that are not in the branch here", name, branch)).Because("nothing is ever forced").Then("pull with mode merge or rebase, then push")
	}
	count, err := w.query(ctx, "rev-list", "--count", tip, "--not", "--remotes="+name, "--")
	if err != nil {
		return out, false, err
	}
	if out.commits, err = strconv.Atoi(strings.TrimSpace(count)); err != nil {
		return out, false, hint.New("git_failed", "what git said can't be read").Wrap(err)
	}
	text, err := w.query(ctx, "log", "-z", "--no-color", "--no-decorate", "--format=%h %s", "-n", strconv.Itoa(approval.MaxSubjects), tip, "--not", "--remotes="+name, "--")
	if err != nil {
		return out, false, err
	}
	for subject := range strings.SplitSeq(strings.TrimSuffix(text, "\x00"), "\x00") {
		if subject != "" {
			out.subjects = append(out.subjects, strings.ToValidUTF8(subject, "\uFFFD"))
		}
	}
	return out, false, nil
}
