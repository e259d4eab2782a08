// Package audit keeps the activity log: what every assistant asked for, who allowed it, and how it ended.
//
// The log is a text file of JSON records, one a line. A call leaves an intent before it acts and a result after, so that
// a crash in between is visible. Records are chained: each holds the MAC of the one before, made with a key from the
// keychain. An anchor in another place holds the number of records and the last MAC, so that a log whose end was cut off
// is noticed too. [Verify] finds a record that was edited, removed, inserted, torn or cut off.
//
// Without a key the chain is made of plain hashes: it guards against accidents only, since whoever can write the file
// can chain it anew. Text is redacted before it is written ([Redact]); file contents never reach the log.
//
// It is a leaf: it imports no other package of the project. There is one writer, held by a lock on the file.
package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kind says what a record tells.
type Kind string

const (
	Intent   Kind = "intent"   // a call is about to act
	Result   Kind = "result"   // how it ended
	Question Kind = "question" // the person is asked
	Decision Kind = "decision" // what they said, or why there was no answer
	Note     Kind = "note"     // the program itself: started, paused, recovered
)

// Record is one line of the log. Seq, Time, Prev and MAC are set when it is appended.
type Record struct {
	Seq     uint64    `json:"seq"`
	Time    time.Time `json:"time"`
	Kind    Kind      `json:"kind"`
	Call    string    `json:"call,omitempty"` // joins the records of one call
	Session string    `json:"session,omitempty"`
	Client  string    `json:"client,omitempty"` // as it calls itself: evidence only
	Program string    `json:"program,omitempty"`
	Tool    string    `json:"tool,omitempty"`
	Text    string    `json:"text,omitempty"` // what, in one line; at most MaxText bytes
	Paths   []string  `json:"paths,omitempty"`
	By      string    `json:"by,omitempty"`      // what allowed it: a grant's folder, a surface
	Outcome string    `json:"outcome,omitempty"` // "ok", a verdict, or a hint's code
	Detail  string    `json:"detail,omitempty"`
	// RunsLater are files that the call made or changed and that something else runs later, outside the sandbox.
	RunsLater []string `json:"runs_later,omitempty"`
	// Changes name what can be put back of what the call changed.
	Changes []string `json:"changes,omitempty"`
	// Undid is the change that was put back.
	Undid string `json:"undid,omitempty"`
	// Job is what a call left running (in its result), or the job of that call that has ended (in a note).
	Job  string `json:"job,omitempty"`
	Prev string `json:"prev"`
	MAC  string `json:"mac,omitempty"`
}

// Started is the text of the note with which the program begins. What earlier records left open, it doesn't do any more.
const Started = "started"

// MaxText is how many bytes of a text field are kept.
const MaxText = 2000

// Log appends records. The zero value is not usable; use Open.
type Log struct {
	mu     sync.Mutex
	key    []byte
	file   *os.File
	anchor *os.File
	seq    uint64
	head   string
	failed error
	recent []Record
	added  func(Record)
	// unfinished is what the log left open when it was opened.
	unfinished unfinished
}

// keepRecent is how many records are at hand without reading the file.
const keepRecent = 200

// Open opens or starts the log at path and its anchor, for the one process that writes them. key makes the chain; nil
// gives a chain of plain hashes. A log whose last record is torn, as after a power cut, is closed with a newline and goes
// on with a note that says so; nothing is taken away. added is called for each record, in order; it may be nil.
func Open(path, anchor string, key []byte, added func(Record)) (*Log, error) {
	for _, p := range []string{path, anchor} {
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			return nil, fmt.Errorf("opening the activity log: %w", err)
		}
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the activity log: %w", err)
	}
	if err := lock(file); err != nil {
		file.Close()
		return nil, fmt.Errorf("opening the activity log %q: %w", path, err)
	}
	mark, err := os.OpenFile(anchor, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("opening the activity log's anchor: %w", err)
	}
	if added == nil {
		added = func(Record) {}
	}
	l := &Log{key: key, file: file, anchor: mark, head: genesis, added: added, unfinished: unfinished{}}
	if err := l.resume(); err != nil {
		l.Close()
		return nil, fmt.Errorf("reading the activity log %q: %w", path, err)
	}
	return l, nil
}

// genesis stands for the record before the first.
var genesis = hex.EncodeToString(make([]byte, sha256.Size))

// missing stands for a record that is no longer there.
var missing = strings.Repeat("f", 2*sha256.Size)

// resume reads the log to its end to find the last whole record. Where that isn't what the anchor says, the end was cut
// off or the anchor replaced: then the log goes on after what is missing, a gap that Verify finds ever after.
func (l *Log) resume() error {
	mark, err := io.ReadAll(io.NewSectionReader(l.anchor, 0, 1<<10))
	if err != nil {
		return fmt.Errorf("reading its anchor: %w", err)
	}
	count, last, sealed := unseal(l.key, mark)
	torn, anchored := 0, false
	err = lines(l.file, func(line []byte, whole bool) {
		r, _, ok := split(line)
		if !ok || !whole {
			torn = len(line)
			return
		}
		torn = 0
		l.seq, l.head = r.Seq, r.MAC
		anchored = anchored || sealed && r.Seq == count && r.MAC == last
		l.remember(r)
		l.unfinished.take(r)
	})
	if err != nil {
		return err
	}
	var notes []Record
	if torn > 0 {
		if _, err := l.file.Write([]byte("\n")); err != nil {
			return err
		}
		notes = append(notes, Record{Kind: Note, Text: "the log ended in a torn record", Detail: fmt.Sprintf("%d bytes", torn)})
	}
	begun := len(mark) == 0 && l.seq <= 1 // the first record is written before the anchor
	if !begun && (!anchored || !l.Keyed() && l.seq > count+1) {
		detail := fmt.Sprintf("record %d is its last one, and its anchor can't be used", l.seq)
		l.head = missing
		if sealed {
			detail = fmt.Sprintf("record %d is its last one, its anchor says %d", l.seq, count)
			if count > l.seq {
				l.seq, l.head = count, last
			}
		}
		notes = append(notes, Record{Kind: Note, Text: "the log is not as it was left", Detail: detail})
	}
	for _, n := range notes {
		if err := l.Append(n); err != nil {
			return err
		}
	}
	return nil
}

// Append writes r. After a failed write the log refuses all further records: what can't be recorded must not happen.
func (l *Log) Append(r Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return fmt.Errorf("appending to the activity log: it failed before: %w", l.failed)
	}
	r.Seq, r.Time, r.Prev, r.MAC = l.seq+1, time.Now().UTC().Truncate(time.Microsecond), l.head, ""
	r.Text, r.Detail, r.Client, r.By = clean(r.Text), clean(r.Detail), clean(r.Client), clean(r.By)
	r.Paths, r.RunsLater = cleanAll(r.Paths), cleanAll(r.RunsLater)
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("appending to the activity log: %w", err)
	}
	r.MAC = mac(l.key, body)
	if _, err := l.file.Write(join(body, r.MAC)); err != nil {
		l.failed = err
		return fmt.Errorf("appending to the activity log: %w", err)
	}
	l.seq, l.head = r.Seq, r.MAC
	if _, err := l.anchor.WriteAt(seal(l.key, l.seq, l.head), 0); err != nil {
		l.failed = err
		return fmt.Errorf("anchoring the activity log: %w", err)
	}
	l.remember(r)
	l.added(r)
	return nil
}

func (l *Log) remember(r Record) {
	if len(l.recent) == keepRecent {
		l.recent = append(l.recent[:0], l.recent[keepRecent/2:]...)
	}
	l.recent = append(l.recent, r)
}

// Recent gives the last records, oldest first, at most n, of the kinds named (all when none is).
func (l *Log) Recent(n int, kinds ...Kind) []Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []Record
	for i := len(l.recent) - 1; i >= 0 && len(found) < n; i-- {
		for _, k := range kinds {
			if l.recent[i].Kind == k {
				found = append(found, l.recent[i])
			}
		}
		if len(kinds) == 0 {
			found = append(found, l.recent[i])
		}
	}
	for i, j := 0, len(found)-1; i < j; i, j = i+1, j-1 {
		found[i], found[j] = found[j], found[i]
	}
	return found
}

// Unfinished gives what the log left open when it was opened, oldest first: the intents of calls that have no result, and the
// results of calls that left a job running whose end is not recorded. All of it was cut short when the program ended.
func (l *Log) Unfinished() []Record {
	var list []Record
	for _, r := range l.unfinished {
		if r.Kind != Note {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b Record) int { return cmp.Compare(a.Seq, b.Seq) })
	return list
}

// unfinished holds by call what is open after the records taken so far. A note stands for a job that has ended before the result
// of its call.
type unfinished map[string]Record

// maxUnfinished bounds it, whatever stands in the log.
const maxUnfinished = 1000

func (u unfinished) take(r Record) {
	before, ok := u[r.Call]
	switch {
	case r.Kind == Note && r.Text == Started:
		clear(u)
	case r.Kind == Intent && len(u) < maxUnfinished, r.Kind == Note && r.Job != "" && ok && before.Kind == Intent:
		u[r.Call] = r
	case r.Kind == Result && r.Job != "" && ok && before.Kind == Intent:
		u[r.Call] = r
	case r.Kind == Result, r.Kind == Note && r.Job != "":
		delete(u, r.Call)
	}
}

// Keyed says whether the chain has a key.
func (l *Log) Keyed() bool { return len(l.key) > 0 }

// Close flushes and lets go of the files.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = os.ErrClosed
	}
	return errors.Join(l.file.Sync(), l.file.Close(), l.anchor.Sync(), l.anchor.Close())
}

// A line is the record's JSON with the MAC of all that stands before it as the last field.
const macField = `,"mac":"`

func join(body []byte, mac string) []byte {
	line := make([]byte, 0, len(body)+len(macField)+len(mac)+3)
	line = append(line, body[:len(body)-1]...)
	line = append(line, macField...)
	line = append(line, mac...)
	return append(line, '"', '}', '\n')
}

// split undoes join for a line without its newline.
func split(line []byte) (r Record, body []byte, ok bool) {
	at := bytes.LastIndex(line, []byte(macField))
	if at < 0 || len(line) != at+len(macField)+2*sha256.Size+2 || !bytes.HasSuffix(line, []byte(`"}`)) {
		return Record{}, nil, false
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if d.Decode(&r) != nil || d.More() {
		return Record{}, nil, false
	}
	return r, append(line[:at:at], '}'), true
}

func mac(key, body []byte) string {
	if len(key) == 0 {
		sum := sha256.Sum256(body)
		return hex.EncodeToString(sum[:])
	}
	h := hmac.New(sha256.New, key)
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// seal is the anchor's whole content: fixed width, so that one write replaces it.
func seal(key []byte, seq uint64, head string) []byte {
	text := fmt.Sprintf("%020d %s ", seq, head)
	return []byte(text + mac(key, []byte("anchor "+text)) + "\n")
}

// unseal undoes seal; ok is false for anything else.
func unseal(key, mark []byte) (seq uint64, head string, ok bool) {
	_, err := fmt.Sscanf(string(mark), "%d %s", &seq, &head)
	return seq, head, err == nil && string(seal(key, seq, head)) == string(mark)
}

// lines calls f for each line; whole is false for a last line without its newline. A line longer than 1 MiB is an error.
func lines(file io.ReadSeeker, f func(line []byte, whole bool)) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	s := bufio.NewScanner(file)
	s.Buffer(make([]byte, 0, 64<<10), 1<<20)
	s.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			return i + 1, data[:i+1], nil
		}
		if atEOF && len(data) > 0 {
			return len(data), data, nil
		}
		return 0, nil, nil
	})
	for s.Scan() {
		line, whole := bytes.CutSuffix(s.Bytes(), []byte("\n"))
		f(line, whole)
	}
	return s.Err()
}
