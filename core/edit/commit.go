package edit

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// tempPrefix begins the name of every file that is being written. One that is left behind, by a power cut or kill -9,
// can be told by it.
const tempPrefix = ".handrail-"

func ours(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, ".tmp")
}

// pending is new content that is on the disk under another name, next to the file that it is for.
type pending struct {
	t        *target
	dir      folder // where the file is, or will be
	entered  []entered
	temp     *os.File
	tempName string
	// exchanged says that tempName holds the old file.
	exchanged bool
	done      bool
	// removes says that nothing is to stand there; link is the target of a link that is to be made.
	removes bool
	link    string
}

// entered is a folder on the way to dir; made says that it wasn't there before.
type entered struct {
	folder
	made bool
}

// at is a test's way to stop or fail an edit between two of its parts.
func (o Options) at(step string) error {
	if o.testOnlyStep == nil {
		return nil
	}
	return o.testOnlyStep(step)
}

// model is the file whose attributes a new one gets: mode, access list, extended attributes. owner says that it gets the
// owner too. The zero value stands for a new file like any other.
type model struct {
	file  *os.File
	perm  uint32
	owner *info
	// executable is for a new file like any other.
	executable bool
}

// prepare writes content to a temporary file with the attributes of like. Missing folders are made. On failure nothing is
// left of it.
func (t *target) prepare(content []byte, like model) (p *pending, err error) {
	p = &pending{t: t, dir: t.dir}
	defer func() {
		if err != nil {
			p.abandon()
			p, err = nil, problem("writing", t.name, err)
		}
	}()
	if err := p.enterMissing(); err != nil {
		return p, err
	}
	p.dir.sweep(time.Now())
	if err := t.options.at("create"); err != nil {
		return p, err
	}
	name := tempPrefix + rand.Text() + ".tmp"
	perm := uint32(0o600)
	switch like {
	case model{}:
		perm = 0o644
	case model{executable: true}:
		perm = 0o755
	}
	if p.temp, err = p.dir.create(name, perm); err != nil {
		return p, err
	}
	p.tempName = name
	lockFile(p.temp) // for sweep; a network disk may have no locks
	if err := t.options.at("write"); err != nil {
		return p, err
	}
	if _, err := p.temp.Write(content); err != nil {
		return p, err
	}
	if like.owner != nil {
		if err := keepOwner(p.temp, like.owner.uid, like.owner.gid); err != nil {
			return p, err
		}
	}
	like.perm &^= 0o6000 // a write takes the set-id bits away
	switch {
	case like.file != nil:
		err = keepAttributes(like.file, p.temp, like.perm)
	case like.perm != 0:
		err = chmod(p.temp, like.perm)
	}
	if err != nil {
		return p, err
	}
	if t.options.undoOf == "" && runs(content, perm|like.perm) {
		if err := quarantine(p.temp); err != nil {
			return p, err
		}
	}
	if err := t.options.at("sync"); err != nil {
		return p, err
	}
	if err := p.temp.Sync(); err != nil {
		return p, err
	}
	return p, nil
}

func (p *pending) enterMissing() error {
	for _, name := range p.t.missing {
		if err := p.enter(name); err != nil {
			return err
		}
	}
	return nil
}

// removal is ready to take the file away.
func (t *target) removal() *pending { return &pending{t: t, dir: t.dir, removes: true} }

// linking is ready to make a link to target.
func (t *target) linking(target string) (*pending, error) {
	p := &pending{t: t, dir: t.dir, link: target}
	if err := p.enterMissing(); err != nil {
		p.abandon()
		return nil, problem("linking", t.name, err)
	}
	return p, nil
}

// enter goes into a folder that is missing, making it.
func (p *pending) enter(name string) error {
	err := p.dir.mkdir(name)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	made := err == nil
	d, err := p.dir.openFolder(name)
	if err != nil {
		return err
	}
	if made {
		if err := p.dir.flush(); err != nil {
			d.Close()
			return err
		}
	}
	p.entered = append(p.entered, entered{d, made})
	p.dir = d
	return nil
}

// commit puts the new content in the place of the old, or in a place where nothing stands. The old file must be the one
// that was read, unchanged, at the very moment of the replacement: it is exchanged with the new one in one step, looked
// at, and put back if it is another. Where the file system can't exchange, it is looked at right before.
func (p *pending) commit() error {
	t := p.t
	if err := t.options.at("compare"); err != nil {
		return problem("writing", t.name, err)
	}
	if err := p.checkFolder(); err != nil {
		return err
	}
	if p.removes {
		return p.commitRemoval()
	}
	if t.file == nil {
		if err := p.commitNew(); err != nil {
			if errors.Is(err, fs.ErrExist) {
				return existsNow(t.name)
			}
			return problem("writing", t.name, err)
		}
		p.done = true
		return nil
	}
	if err := p.unchanged(t.base); err != nil {
		return err
	}
	if err := t.options.at("replace"); err != nil {
		return problem("writing", t.name, err)
	}
	err := errors.ErrUnsupported
	if !t.options.testOnlyNoExchange {
		err = p.dir.exchange(p.tempName, t.base)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		if err = t.sameContent(); err == nil {
			err = p.dir.rename(p.tempName, t.base)
		}
		if err != nil {
			return problem("writing", t.name, err)
		}
		p.done = true
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return stale(t.name, "it is gone")
	}
	if err != nil {
		return problem("writing", t.name, err)
	}
	return p.settle(p.tempName)
}

// settle looks at the file that has just been moved to the name aside: another one than was read, or one with another text, is
// given its name back.
func (p *pending) settle(aside string) error {
	p.tempName, p.exchanged = aside, true
	err := p.unchanged(aside)
	if err == nil {
		err = p.t.sameContent()
	}
	if err != nil {
		if back := p.takeBack(); back != nil {
			return back
		}
		return err
	}
	p.done = true
	return nil
}

// commitNew names the new file if nothing has that name.
func (p *pending) commitNew() error {
	if err := p.t.options.at("replace"); err != nil {
		return err
	}
	if p.link != "" {
		return p.dir.symlink(p.link, p.t.base)
	}
	err := errors.ErrUnsupported
	if !p.t.options.testOnlyNoExchange {
		err = p.dir.renameNew(p.tempName, p.t.base)
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := p.dir.link(p.tempName, p.t.base); err != nil {
		return err
	}
	p.dir.remove(p.tempName) // else sweep does
	return nil
}

// commitRemoval moves the file aside and looks at it there, so that no other file is removed.
func (p *pending) commitRemoval() error {
	t := p.t
	if err := p.unchanged(t.base); err != nil {
		return err
	}
	if err := t.options.at("replace"); err != nil {
		return problem("removing", t.name, err)
	}
	aside := tempPrefix + rand.Text() + ".tmp"
	err := errors.ErrUnsupported
	if !t.options.testOnlyNoExchange {
		err = p.dir.renameNew(t.base, aside)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		err = p.dir.rename(t.base, aside)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return stale(t.name, "it is gone")
	}
	if err != nil {
		return problem("removing", t.name, err)
	}
	return p.settle(aside)
}

// putBack gives a file that was moved aside its name again, if nothing has it.
func (p *pending) putBack() error {
	err := errors.ErrUnsupported
	if !p.t.options.testOnlyNoExchange {
		err = p.dir.renameNew(p.tempName, p.t.base)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		if err = p.dir.link(p.tempName, p.t.base); err == nil {
			err = p.dir.remove(p.tempName)
		}
	}
	if err == nil {
		p.tempName = ""
	}
	return err
}

// unchanged reports whether the file that name stands for is the one that was read, as far as a stat can tell.
func (p *pending) unchanged(name string) error {
	t := p.t
	now, err := p.dir.stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return stale(t.name, "it is gone")
	case err != nil:
		return problem("writing", t.name, err)
	case !now.same(t.was):
		return stale(t.name, "it is not as it was when it was read")
	case now.links != t.was.links:
		return stale(t.name, "it got another name")
	}
	return nil
}

// sameContent reads the file again if it was changed so shortly before it was read that a later change might not show in
// its times.
func (t *target) sameContent() error {
	if t.file == nil || time.Since(time.Unix(0, t.was.mtime)) > 3*time.Second {
		return nil
	}
	rest, buf := t.content, make([]byte, 64<<10)
	in := io.NewSectionReader(t.file, 0, MaxBytes+1)
	for {
		n, err := in.Read(buf)
		if n > len(rest) || !bytes.Equal(buf[:n], rest[:n]) || err == io.EOF && len(rest) > n {
			return stale(t.name, "it is not as it was when it was read")
		}
		rest = rest[n:]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return problem("reading", t.name, err)
		}
	}
}

// checkFolder reports whether the folder is still where it was found.
func (p *pending) checkFolder() error {
	t := p.t
	again, err := find(t.root, t.name, Options{NoLinks: true, ofLink: t.options.ofLink}, true)
	if err != nil {
		return stale(t.name, "its folder was moved or replaced")
	}
	defer again.close()
	here, err := statFile(p.dir.File)
	if err != nil || len(again.missing) > 0 || again.parent != here.id {
		return stale(t.name, "its folder was moved or replaced")
	}
	return nil
}

// takeBack undoes a commit that exchanged. If even that fails, the old file is kept and the error says under which name.
func (p *pending) takeBack() error {
	back := p.putBack
	if !p.removes {
		back = func() error { return p.dir.exchange(p.tempName, p.t.base) }
	}
	if err := back(); err != nil {
		kept := p.t.keepAside(p.dir, p.tempName)
		p.done, p.exchanged, p.tempName = true, false, ""
		return problem("putting back (the old file is kept as "+kept+")", p.t.name, err)
	}
	p.exchanged, p.done = false, false
	return nil
}

// keepAside gives a temporary file a name that lasts.
func (t *target) keepAside(d folder, temp string) string {
	kept := t.base + ".kept-" + strings.ToLower(rand.Text()[:6])
	if d.renameNew(temp, kept) != nil && d.link(temp, kept) != nil {
		return temp
	}
	return kept
}

// finish makes the replacement last and lets the old file go. The note says what didn't work; the file is replaced
// whatever it says.
func (p *pending) finish() (note string) {
	if p.exchanged {
		if err := p.t.options.at("remove"); err != nil || p.dir.remove(p.tempName) != nil {
			note = "the old file could not be removed: it is " + p.tempName
		}
	}
	if err := p.dir.flush(); err != nil {
		note = "the folder could not be written to the disk: after a power cut the old text may be back"
	}
	p.tempName, p.exchanged = "", false
	p.abandon()
	return note
}

// abandon removes what prepare made, unless it was committed, and closes what it opened.
func (p *pending) abandon() {
	if p.tempName != "" && !p.done {
		p.dir.remove(p.tempName)
	}
	if p.temp != nil {
		p.temp.Close()
	}
	for i, d := range slices.Backward(p.entered) {
		above := p.t.dir
		if i > 0 {
			above = p.entered[i-1].folder
		}
		if d.made && !p.done {
			above.rmdir(p.t.missing[i]) // fails where something is in it
		}
		d.Close()
	}
	p.entered, p.temp, p.tempName = nil, nil, ""
}

// swept remembers when a folder was last looked through.
var (
	sweptMu sync.Mutex
	swept   = map[identity]time.Time{}
)

// leftAlone is how old a temporary file must be before it counts as left behind.
const leftAlone = time.Minute

// sweep removes temporary files that nobody writes any more, looking through a folder once a minute.
func (d folder) sweep(now time.Time) {
	st, err := statFile(d.File)
	if err != nil {
		return
	}
	sweptMu.Lock()
	recent := now.Sub(swept[st.id]) < leftAlone
	if !recent {
		if len(swept) > 1000 {
			clear(swept)
		}
		swept[st.id] = now
	}
	sweptMu.Unlock()
	if recent {
		return
	}
	list, err := d.names(mostNames)
	if err != nil {
		return
	}
	for _, name := range list {
		if ours(name) {
			d.sweepOne(name, now)
		}
	}
}

func (d folder) sweepOne(name string, now time.Time) {
	st, err := d.stat(name)
	if err == nil && st.kind == symlink && st.uid == euid() && now.Sub(time.Unix(0, st.ctime)) >= leftAlone {
		d.remove(name)
		return
	}
	if err != nil || st.kind != regular || st.uid != euid() || now.Sub(time.Unix(0, st.ctime)) < leftAlone {
		return
	}
	f, err := d.openRead(name)
	if err != nil {
		return
	}
	defer f.Close()
	if lockFile(f) == nil { // else another process writes it
		d.remove(name)
	}
}

// rollback undoes a commit that isn't finished. The error says what could not be put back, and under which name it is.
func (p *pending) rollback() error {
	defer p.abandon()
	t := p.t
	switch {
	case !p.done:
		return nil
	case p.exchanged:
		return p.takeBack()
	case t.file == nil:
		p.done, p.tempName = false, ""
		return problem("removing", t.name, p.dir.remove(t.base))
	}
	q, err := t.prepare(t.content, model{file: p.temp, perm: t.was.perm, owner: &t.was})
	if err == nil {
		defer q.abandon()
		if err = p.dir.rename(q.tempName, t.base); err == nil {
			q.done = true
		}
	}
	return problem("putting back", t.name, err)
}
