package audit

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

var testKey = []byte("a key of thirty-two bytes, or so")

type place struct{ log, anchor string }

func newPlace(t *testing.T) place {
	dir := t.TempDir()
	return place{filepath.Join(dir, "logs", "agent_activity.jsonl"), filepath.Join(dir, "anchor")}
}

// fill writes a log of n records.
func (p place) fill(t *testing.T, key []byte, n int) {
	t.Helper()
	l, err := Open(p.log, p.anchor, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := l.Append(Record{Kind: Intent, Call: string(rune('a' + i)), Tool: "bash", Text: "echo \u2028 <&> hello"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func (p place) lines(t *testing.T) [][]byte {
	t.Helper()
	data, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
}

func (p place) write(t *testing.T, lines ...[]byte) {
	t.Helper()
	if err := os.WriteFile(p.log, bytes.Join(lines, nil), 0o600); err != nil {
		t.Fatal(err)
	}
}

// rechain makes a consistent chain of the given records with another key, as someone who can write the file would.
func rechain(t *testing.T, key []byte, lines [][]byte) (out [][]byte, head string, seq uint64) {
	head = genesis
	for _, line := range lines {
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		seq++
		r.Seq, r.Prev, r.MAC = seq, head, ""
		body, _ := json.Marshal(r)
		head = mac(key, body)
		out = append(out, join(body, head))
	}
	return out, head, seq
}

func TestVerify(t *testing.T) {
	for _, c := range []struct {
		name   string
		key    []byte
		damage func(t *testing.T, p place)
		want   string // part of a finding; empty: none
	}{
		{"whole", testKey, func(*testing.T, place) {}, ""},
		{"whole without key", nil, func(*testing.T, place) {}, ""},
		{"edited", testKey, func(t *testing.T, p place) {
			l := p.lines(t)
			l[1] = bytes.Replace(l[1], []byte("hello"), []byte("jello"), 1)
			p.write(t, l...)
		}, "line 2 (record 2) was edited"},
		{"edited without key", nil, func(t *testing.T, p place) {
			l := p.lines(t)
			l[1] = bytes.Replace(l[1], []byte("hello"), []byte("jello"), 1)
			p.write(t, l...)
		}, "line 2 (record 2) was edited"},
		{"field added", testKey, func(t *testing.T, p place) {
			l := p.lines(t)
			l[1] = bytes.Replace(l[1], []byte(`{"seq"`), []byte(`{"x":1,"seq"`), 1)
			p.write(t, l...)
		}, "line 2 is torn"},
		{"removed", testKey, func(t *testing.T, p place) {
			l := p.lines(t)
			p.write(t, append(l[:1:1], l[2:]...)...)
		}, "record 3 follows record 1"},
		{"swapped", testKey, func(t *testing.T, p place) {
			l := p.lines(t)
			l[1], l[2] = l[2], l[1]
			p.write(t, l...)
		}, "removed, inserted or moved"},
		{"inserted twice", testKey, func(t *testing.T, p place) {
			l := p.lines(t)
			p.write(t, l[0], l[1], l[1], l[2], l[3], l[4])
		}, "record 2 follows record 2"},
		{"first removed", testKey, func(t *testing.T, p place) { p.write(t, p.lines(t)[1:]...) }, "record 2 follows record 0"},
		{"torn in the middle", testKey, func(t *testing.T, p place) {
			l := p.lines(t)
			l[2] = append(l[2][:len(l[2])/2], '\n')
			p.write(t, l...)
		}, "line 3 is torn"},
		{"torn at the end", testKey, func(t *testing.T, p place) {
			l := p.lines(t)
			l[4] = l[4][:20]
			p.write(t, l...)
		}, "line 5 is torn"},
		{"cut off", testKey, func(t *testing.T, p place) { p.write(t, p.lines(t)[:3]...) }, "record 3 of 5 is the last"},
		{"cut off without key", nil, func(t *testing.T, p place) { p.write(t, p.lines(t)[:3]...) }, "record 3 of 5 is the last"},
		{"emptied", testKey, func(t *testing.T, p place) { p.write(t) }, "record 0 of 5 is the last"},
		{"chained anew with another key", testKey, func(t *testing.T, p place) {
			l, _, _ := rechain(t, []byte("another"), p.lines(t))
			p.write(t, l...)
		}, "not written with this key"},
		{"chained anew, anchor too", testKey, func(t *testing.T, p place) {
			l, head, seq := rechain(t, []byte("another"), p.lines(t)[:3])
			p.write(t, l...)
			if err := os.WriteFile(p.anchor, seal([]byte("another"), seq, head), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "the anchor was edited"},
		{"chained anew without key", nil, func(t *testing.T, p place) {
			l, _, _ := rechain(t, nil, bytes.SplitAfter(bytes.ReplaceAll(bytes.TrimSpace(bytes.Join(p.lines(t), nil)), []byte("hello"), []byte("jello")), []byte("\n")))
			p.write(t, l...)
		}, "chained anew"},
		{"anchor gone", testKey, func(t *testing.T, p place) { os.Remove(p.anchor) }, "the anchor is missing"},
		{"anchor edited", testKey, func(t *testing.T, p place) { os.WriteFile(p.anchor, []byte("00000000000000000003 x y\n"), 0o600) }, "the anchor was edited"},
		{"anchor one behind", testKey, func(t *testing.T, p place) {
			var r Record
			if err := json.Unmarshal(p.lines(t)[3], &r); err != nil {
				t.Fatal(err)
			}
			os.WriteFile(p.anchor, seal(testKey, r.Seq, r.MAC), 0o600)
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			p.fill(t, c.key, 5)
			c.damage(t, p)
			rep, err := Verify(p.log, p.anchor, c.key)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(rep.Findings, "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("findings %q, want %q", got, c.want)
			}
			if rep.Keyed != (c.key != nil) {
				t.Errorf("Keyed is %v", rep.Keyed)
			}
		})
	}
}

func TestVerifyWithoutLog(t *testing.T) {
	p := newPlace(t)
	if rep, err := Verify(p.log, p.anchor, nil); err != nil || len(rep.Findings) > 0 {
		t.Errorf("a log that never was: %v %v", rep, err)
	}
	p.fill(t, testKey, 2)
	os.Remove(p.log)
	if _, err := Verify(p.log, p.anchor, testKey); err == nil {
		t.Error("a log that is gone passes")
	}
}

func TestResume(t *testing.T) {
	p := newPlace(t)
	p.fill(t, testKey, 3)
	p.fill(t, testKey, 2)
	rep, err := Verify(p.log, p.anchor, testKey)
	if err != nil || rep.Records != 5 || len(rep.Findings) > 0 {
		t.Fatalf("after reopening: %+v %v", rep, err)
	}
	// A torn end stays visible and doesn't stop the log.
	f, err := os.OpenFile(p.log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"seq":6,"time":"20`)
	f.Close()
	p.fill(t, testKey, 1)
	rep, err = Verify(p.log, p.anchor, testKey)
	if err != nil || rep.Records != 7 || len(rep.Findings) != 1 || !strings.Contains(rep.Findings[0], "line 6 is torn") {
		t.Fatalf("after a torn record: %+v %v", rep, err)
	}
}

// What was taken away stays found once Handrail has started again and written on, and after a second try.
func TestResumeKeepsFindings(t *testing.T) {
	cut := func(t *testing.T, p place) { p.write(t, p.lines(t)[:3]...) }
	for _, c := range []struct {
		name   string
		key    []byte
		damage func(t *testing.T, p place)
	}{
		{"cut off", testKey, cut},
		{"cut off without key", nil, cut},
		{"emptied", testKey, func(t *testing.T, p place) { p.write(t) }},
		{"gone", testKey, func(t *testing.T, p place) { os.Remove(p.log) }},
		{"cut in a record", testKey, func(t *testing.T, p place) {
			l := p.lines(t)
			p.write(t, l[0], l[1][:20])
		}},
		{"anchor gone", testKey, func(t *testing.T, p place) { os.Remove(p.anchor) }},
		{"cut off, anchor gone", testKey, func(t *testing.T, p place) { cut(t, p); os.Remove(p.anchor) }},
		{"emptied, anchor edited", testKey, func(t *testing.T, p place) { p.write(t); os.WriteFile(p.anchor, []byte("x"), 0o600) }},
		{"chained anew without key", nil, func(t *testing.T, p place) {
			l, _, _ := rechain(t, nil, bytes.SplitAfter(bytes.ReplaceAll(bytes.TrimSpace(bytes.Join(p.lines(t), nil)), []byte("hello"), []byte("jello")), []byte("\n")))
			p.write(t, l...)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			p.fill(t, c.key, 5)
			for range 2 {
				c.damage(t, p)
				p.fill(t, c.key, 4)
				if rep, err := Verify(p.log, p.anchor, c.key); err != nil || len(rep.Findings) == 0 {
					t.Errorf("%+v %v", rep, err)
				}
			}
		})
	}
}

// A kill between a record and its anchor is no finding.
func TestResumeAfterKill(t *testing.T) {
	for _, records := range []int{1, 4} {
		p := newPlace(t)
		p.fill(t, testKey, records-1)
		anchor, err := os.ReadFile(p.anchor)
		if err != nil {
			t.Fatal(err)
		}
		p.fill(t, testKey, 1)
		if err := os.WriteFile(p.anchor, anchor, 0o600); err != nil {
			t.Fatal(err)
		}
		p.fill(t, testKey, 2)
		if rep, err := Verify(p.log, p.anchor, testKey); err != nil || rep.Records != records+2 || len(rep.Findings) > 0 {
			t.Errorf("%d records: %+v %v", records, rep, err)
		}
	}
}

func TestOneWriter(t *testing.T) {
	p := newPlace(t)
	l, err := Open(p.log, p.anchor, testKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := Open(p.log, p.anchor, testKey, nil); err == nil {
		second.Close()
		t.Error("a second writer was let in")
	}
	l.Close()
	if err := l.Append(Record{Kind: Note}); err == nil {
		t.Error("a closed log took a record")
	}
}

// What can't be recorded must not happen, so a log that failed stays failed.
func TestFailedWriteStays(t *testing.T) {
	p := newPlace(t)
	l, err := Open(p.log, p.anchor, testKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.file.Close()
	for range 2 {
		if l.Append(Record{Kind: Intent}) == nil {
			t.Error("a record that was not written was reported as written")
		}
	}
}

func TestConcurrentAppend(t *testing.T) {
	p := newPlace(t)
	var seen []uint64
	l, err := Open(p.log, p.anchor, testKey, func(r Record) { seen = append(seen, r.Seq) })
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for range 20 {
				if err := l.Append(Record{Kind: Result, Outcome: "ok"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := l.Recent(3, Result); len(got) != 3 || got[2].Seq != 400 || got[0].Seq != 398 {
		t.Errorf("recent: %+v", got)
	}
	l.Close()
	for i, s := range seen {
		if s != uint64(i+1) {
			t.Fatalf("record %d was told as number %d", s, i+1)
		}
	}
	if rep, err := Verify(p.log, p.anchor, testKey); err != nil || rep.Records != 400 || len(rep.Findings) > 0 {
		t.Errorf("%+v %v", rep, err)
	}
}

func TestRedact(t *testing.T) {
	for _, c := range []struct{ text, secret, kept string }{
		{"curl -H 'Authorization: Bearer abcdef123456' https://x", "abcdef123456", "https://x"},
		{"export GITHUB_TOKEN=ghq_abc; make", "ghq_abc", "make"},
		{"mysql --password hunter2 -u me", "hunter2", "-u me"},
		{"mysql --password=hunter2 -u me", "hunter2", "-u me"},
		{"git clone https://me:p4ssw0rd@example.com/r.git", "p4ssw0rd", "example.com/r.git"},
		{`{"api_key": "abc def"}`, "abc def", "api_key"},
		{"echo ghp_0123456789abcdefghij0123", "ghp_0123", "echo"},
		{"AKIAIOSFODNN7EXAMPLE is it", "AKIAIOSFODNN7EXAMPLE", "is it"},
		{"x -----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY----- y", "abc", " y"},
		{"x -----BEGIN RSA PRIVATE KEY-----\nabcut", "abcut", "x "},
		{"hr_abcdefghijklmnopqrstuvwxyz", "abcdefghij", ""},
		{"jwt eyJhbGciOiJI.eyJzdWIiOiIx.abc", "eyJzdWIiOiIx", "jwt"},
		{"make test", "", "make test"},
		{"git commit -m 'token ring'", "", "token ring"},
		{"cat tokens.txt", "", "cat tokens.txt"},
	} {
		got := Redact(c.text)
		if c.secret != "" && strings.Contains(got, c.secret) {
			t.Errorf("%q kept its secret: %q", c.text, got)
		}
		if !strings.Contains(got, c.kept) {
			t.Errorf("%q lost %q: %q", c.text, c.kept, got)
		}
	}
}

func TestSecretsNeverReachTheFile(t *testing.T) {
	p := newPlace(t)
	l, err := Open(p.log, p.anchor, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", MaxText-12) + " --password hunter2hunter2"
	for _, text := range []string{"PASSWORD=hunter2hunter2", long, "\xff\xfe TOKEN=hunter2hunter2"} {
		if err := l.Append(Record{Kind: Intent, Text: text, Detail: text, Client: text, By: text, Paths: []string{"/w", text}, RunsLater: []string{text}}); err != nil {
			t.Fatal(err)
		}
	}
	l.Close()
	data, _ := os.ReadFile(p.log)
	if bytes.Contains(data, []byte("hunter2")) {
		t.Errorf("the log holds a secret: %s", data)
	}
	if rep, err := Verify(p.log, p.anchor, nil); err != nil || len(rep.Findings) > 0 {
		t.Errorf("%+v %v", rep, err)
	}
	if info, _ := os.Stat(p.log); info.Mode().Perm() != 0o600 {
		t.Errorf("the log's mode is %v", info.Mode())
	}
}

// What a log leaves open is known when it is opened again.
func TestUnfinished(t *testing.T) {
	intent := func(call string) Record { return Record{Kind: Intent, Call: call, Tool: "bash"} }
	result := func(call, job string) Record { return Record{Kind: Result, Call: call, Job: job} }
	ended := func(call, job string) Record { return Record{Kind: Note, Call: call, Job: job} }
	for _, c := range []struct {
		name    string
		records []Record
		want    string // call and kind of each
	}{
		{"nothing", nil, ""},
		{"all done", []Record{intent("a"), result("a", "")}, ""},
		{"a call", []Record{intent("a"), intent("b"), result("a", "")}, "b intent"},
		{"a refusal", []Record{result("a", "")}, ""},
		{"a job", []Record{intent("a"), result("a", "job-1"), intent("b"), result("b", "")}, "a result"},
		{"a job that ended", []Record{intent("a"), result("a", "job-1"), ended("a", "job-1")}, ""},
		{"a job that ended before the result", []Record{intent("a"), ended("a", "job-1"), result("a", "job-1")}, ""},
		{"a job that ended, no result", []Record{intent("a"), ended("a", "job-1")}, ""},
		{"a job that started after its call had answered", []Record{intent("a"), result("a", ""), intent("a"), intent("b"), ended("b", "job-2")}, "a intent"},
		{"in order", []Record{intent("z"), result("z", "job-1"), intent("a"), intent("m")}, "z result, a intent, m intent"},
		{"other notes", []Record{intent("a"), {Kind: Note, Text: "paused"}, {Kind: Question, Call: "a"}, {Kind: Decision, Call: "a"}}, "a intent"},
		{"an earlier run", []Record{intent("a"), intent("b"), result("b", "job-1"), {Kind: Note, Text: Started}, intent("c")}, "c intent"},
	} {
		for _, key := range [][]byte{nil, testKey} {
			p := newPlace(t)
			l, err := Open(p.log, p.anchor, key, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range c.records {
				if err := l.Append(r); err != nil {
					t.Fatal(err)
				}
			}
			if got := l.Unfinished(); len(got) != 0 {
				t.Errorf("%s: a new log left %v open", c.name, got)
			}
			l.Close()
			if l, err = Open(p.log, p.anchor, key, nil); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range l.Unfinished() {
				got = append(got, r.Call+" "+string(r.Kind))
			}
			if got := strings.Join(got, ", "); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
			l.Close()
		}
	}
	u := unfinished{}
	for i := range 3 * maxUnfinished {
		u.take(intent(strconv.Itoa(i)))
	}
	if len(u) != maxUnfinished {
		t.Errorf("%d are held", len(u))
	}
}
