package approval

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"handrail/core/client"
	"handrail/core/grant"
)

func request() Request {
	return Request{Kind: EditFolder, Who: client.Identity{ID: "stdio:1", Name: "Claude"}, Session: "s", Tool: "edit",
		Folder: "/home/me/Handrail/photos", FolderID: grant.ID{Device: 1, Inode: 2}, Files: 3, Bytes: 400, Command: &Command{Text: "ls", Runs: "/bin/ls", Rule: &Rule{Program: "/bin/ls"}},
		Switch: &Switch{Client: "http:a", Name: "docker"}, Policy: &Policy{File: "/home/me/.local/state/handrail/exec-policy.json", SHA256: "0a", Wider: []string{"safe bin cut"}},
		Undo: &Undo{Change: "c", Time: time.Unix(1, 0).UTC(), Folder: "/home/me"}}
}

// eachField changes each field of a struct in turn, also behind pointers and in slices of structs, calls check, and puts it back.
// It gives how many it changed.
func eachField(t *testing.T, v reflect.Value, path string, check func(name string)) (n int) {
	t.Helper()
	for i := range v.NumField() {
		f, name := v.Field(i), path+v.Type().Field(i).Name
		old := reflect.ValueOf(f.Interface())
		switch f.Kind() {
		case reflect.Struct:
			if at, ok := f.Interface().(time.Time); ok {
				f.Set(reflect.ValueOf(at.Add(1)))
				break
			}
			n += eachField(t, f, name+".", check)
			continue
		case reflect.Pointer:
			if f.IsNil() {
				f.Set(reflect.New(f.Type().Elem()))
			} else {
				n += eachField(t, f.Elem(), name+".", check)
				f.SetZero()
			}
		case reflect.String:
			f.SetString(f.String() + "x")
		case reflect.Bool:
			f.SetBool(!f.Bool())
		case reflect.Int, reflect.Int64:
			f.SetInt(f.Int() + 1)
		case reflect.Uint64:
			f.SetUint(f.Uint() + 1)
		case reflect.Slice:
			for k := range f.Len() {
				if f.Index(k).Kind() == reflect.Struct {
					n += eachField(t, f.Index(k), name+".", check)
				}
			}
			f.Set(reflect.Append(f, reflect.Zero(f.Type().Elem())))
		default:
			t.Fatalf("field %s has a kind that this test can't change", name)
		}
		n++
		check(name)
		f.Set(old)
	}
	return n
}

// Each field is bound: a decision for a request that differs in any of them is worth nothing.
func TestDecisionBindsEveryField(t *testing.T) {
	d := Allow(request(), "dialog")
	if err := d.Covers(request()); err != nil {
		t.Fatalf("the request that was shown: %v", err)
	}
	r := request()
	n := eachField(t, reflect.ValueOf(&r).Elem(), "", func(name string) {
		if d.Covers(r) == nil {
			t.Errorf("%s: a decision covers a request that was not shown: %+v", name, r)
		}
	})
	if n < 15 {
		t.Errorf("only %d fields were changed", n)
	}
}

func TestDecisionRefuses(t *testing.T) {
	if (Decision{}).Covers(request()) == nil {
		t.Error("the zero decision allows")
	}
	for v := Refused; v < Allowed; v++ {
		if Refuse(v, "dialog", "").Covers(request()) == nil {
			t.Errorf("%v allows", v)
		}
	}
	if d := Refuse(Allowed, "dialog", ""); d.Covers(request()) == nil {
		t.Error("Refuse allows")
	}
	if d := RefuseQuietly("dialog"); d.Covers(request()) == nil || d.Always {
		t.Error("RefuseQuietly allows")
	}
	for _, c := range []*Command{nil, {Text: "ls", Runs: "/bin/ls"}} {
		r := request()
		r.Command = c
		if d := AllowAlways(r, "dialog"); d.Covers(r) == nil || d.Always {
			t.Errorf("a rule that wasn't offered is chosen: %+v", c)
		}
	}
	if d := AllowAlways(request(), "dialog"); d.Covers(request()) != nil || !d.Always {
		t.Error("a rule that was offered can't be chosen")
	}
	synctest.Test(t, func(t *testing.T) {
		d := Allow(request(), "dialog")
		time.Sleep(ValidFor + time.Second)
		if d.Covers(request()) == nil {
			t.Error("an old decision allows")
		}
	})
}

func TestVerdictNames(t *testing.T) {
	for v := Refused; v <= Allowed; v++ {
		if (v == Allowed) != (v.String() == "allowed") || v.String() == "" {
			t.Errorf("%d is called %q", v, v)
		}
	}
	if Verdict(99).String() != "refused" {
		t.Error("an unknown verdict is not called refused")
	}
}

// asker answers from a channel, like a person.
type asker struct {
	shown   chan Request
	answers chan func(Request) Decision
}

func newAsker() *asker {
	return &asker{make(chan Request, 10), make(chan func(Request) Decision, 10)}
}

func (a *asker) Ask(ctx context.Context, r Request) Decision {
	a.shown <- r
	select {
	case f := <-a.answers:
		return f(r)
	case <-ctx.Done():
		return Refuse(Withdrawn, "dialog", "")
	}
}

func yes(r Request) Decision { return Allow(r, "dialog") }
func no(Request) Decision    { return Refuse(Refused, "dialog", "") }

func TestQueueWithoutAsker(t *testing.T) {
	for _, q := range []*Queue{nil, {}, NewQueue(nil, nil)} {
		if a := q.Ask(t.Context(), nil, t.Context(), "k", request(), time.Hour); a.Decision.Verdict != CouldNotShow {
			t.Errorf("%+v", a)
		}
	}
}

func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsker()
		q := NewQueue(a, nil)
		ask := func(key string) chan Answer {
			got := make(chan Answer, 1)
			go func() { got <- q.Ask(t.Context(), nil, t.Context(), key, request(), 45*time.Second) }()
			synctest.Wait()
			return got
		}
		// One at a time, in order; the same key asks once.
		first, again, second := ask("a"), ask("a"), ask("b")
		if len(a.shown) != 1 || len(q.Waiting()) != 2 {
			t.Fatalf("%d shown, %d waiting", len(a.shown), len(q.Waiting()))
		}
		a.answers <- yes
		if d := (<-first).Decision; d.Covers(request()) != nil {
			t.Error("the first caller did not get its answer")
		}
		if d := (<-again).Decision; d.Covers(request()) != nil {
			t.Error("the caller that joined did not get the answer")
		}
		a.answers <- no
		if d := (<-second).Decision; d.Verdict != Refused {
			t.Errorf("second: %v", d.Verdict)
		}
		synctest.Wait()
		// An answer that was handed to all that waited is used up.
		third := ask("a")
		if len(a.shown) != 3 {
			t.Error("an answer was used again")
		}
		a.answers <- no
		<-third
	})
}

func TestQueueAnswersLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsker()
		q := NewQueue(a, nil)
		ask := func() Answer { return q.Ask(t.Context(), nil, t.Context(), "k", request(), 45*time.Second) }
		if got := ask(); got.Pending == "" || got.Decision.Covers(request()) == nil {
			t.Fatalf("after 45 s: %+v", got)
		}
		a.answers <- no
		synctest.Wait()
		if got := ask(); got.Decision.Verdict != Refused || got.Pending != "" {
			t.Errorf("coming back: %+v", got)
		}
		if len(a.shown) != 1 {
			t.Errorf("shown %d times", len(a.shown))
		}
		// An answer that nobody fetches is forgotten.
		if got := ask(); got.Pending == "" {
			t.Fatalf("%+v", got)
		}
		a.answers <- yes
		time.Sleep(ValidFor + time.Second)
		synctest.Wait()
		a.answers <- no
		if got := ask(); got.Decision.Verdict != Refused {
			t.Errorf("a forgotten answer: %+v", got)
		}
	})
}

// A call that comes back while its question is still shown fetches the answer; nothing is left for a later one.
func TestQueueAnswersOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsker()
		q := NewQueue(a, nil)
		ask := func() Answer { return q.Ask(t.Context(), nil, t.Context(), "k", request(), 45*time.Second) }
		if got := ask(); got.Pending == "" {
			t.Fatalf("%+v", got)
		}
		time.AfterFunc(time.Second, func() { a.answers <- yes })
		if got := ask(); got.Decision.Covers(request()) != nil {
			t.Fatalf("coming back: %+v", got)
		}
		a.answers <- no
		if got := ask(); got.Decision.Covers(request()) == nil {
			t.Error("an answer was used by a call that came after those that waited for it")
		}
		if len(a.shown) != 2 {
			t.Errorf("asked %d times, not 2", len(a.shown))
		}
	})
}

// An answer that allows one call isn't shared by those that wait for it.
func TestQueueOnce(t *testing.T) {
	for _, k := range []Kind{Protected, GitPush, Clipboard} {
		t.Run(string(k), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAsker()
				q := NewQueue(a, nil)
				r := request()
				r.Kind = k
				got := make(chan Answer, 3)
				for range cap(got) {
					go func() { got <- q.Ask(t.Context(), nil, t.Context(), "k", r, 45*time.Second) }()
				}
				synctest.Wait()
				a.answers <- yes
				allowed := 0
				for range cap(got) {
					if d := (<-got).Decision; d.Covers(r) == nil {
						allowed++
					} else if d.Verdict != Withdrawn {
						t.Errorf("%v", d.Verdict)
					}
				}
				if allowed != 1 || len(a.shown) != 1 {
					t.Errorf("%d questions allowed %d calls", len(a.shown), allowed)
				}
			})
		})
	}
}

func TestQueueWithdraws(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(cancel, endSession context.CancelFunc, gone chan struct{})
	}{
		{"cancelled", func(cancel, _ context.CancelFunc, _ chan struct{}) { cancel() }},
		{"gone", func(_, _ context.CancelFunc, gone chan struct{}) { close(gone) }},
		{"session ended", func(_, end context.CancelFunc, _ chan struct{}) { end() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAsker()
				q := NewQueue(a, nil)
				ctx, cancel := context.WithCancel(t.Context())
				session, end := context.WithCancel(t.Context())
				defer cancel()
				defer end()
				gone := make(chan struct{})
				got := make(chan Answer, 2)
				go func() { got <- q.Ask(ctx, gone, session, "shown", request(), time.Hour) }()
				synctest.Wait()
				go func() { got <- q.Ask(ctx, gone, session, "waiting", request(), time.Hour) }()
				synctest.Wait()
				c.end(cancel, end, gone)
				for range 2 {
					if d := (<-got).Decision; d.Verdict != Withdrawn {
						t.Errorf("%v", d.Verdict)
					}
				}
				synctest.Wait()
				if n := len(q.Waiting()); n != 0 {
					t.Errorf("%d questions still wait", n)
				}
				if len(a.shown) != 1 {
					t.Errorf("%d questions were shown", len(a.shown))
				}
			})
		})
	}
}

// A person may click just as the session ends: the click comes too late.
func TestQueueLateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session, end := context.WithCancel(t.Context())
		q := NewQueue(askerFunc(func(_ context.Context, r Request) Decision {
			end()
			return Allow(r, "dialog")
		}), nil)
		if a := q.Ask(t.Context(), nil, session, "k", request(), time.Hour); a.Decision.Verdict != Withdrawn {
			t.Errorf("%v", a.Decision.Verdict)
		}
	})
}

type askerFunc func(context.Context, Request) Decision

func (f askerFunc) Ask(ctx context.Context, r Request) Decision { return f(ctx, r) }

func TestQueueFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsker()
		q := NewQueue(a, nil)
		ctx, cancel := context.WithCancel(t.Context())
		for _, key := range []string{"a", "b", "c"} {
			go q.Ask(ctx, nil, ctx, key, request(), time.Hour)
			synctest.Wait()
		}
		if got := q.Ask(ctx, nil, ctx, "d", request(), time.Hour); got.Decision.Verdict != CouldNotShow || got.Pending != "" {
			t.Errorf("the fourth question of one client: %+v", got)
		}
		other := request()
		other.Who.ID = "stdio:2"
		go q.Ask(ctx, nil, ctx, "e", other, time.Hour)
		synctest.Wait()
		if n := len(q.Waiting()); n != 4 {
			t.Errorf("another client's question does not wait: %d", n)
		}
		cancel()
		synctest.Wait()
	})
}

func TestQueueExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsker()
		q := NewQueue(a, nil)
		go q.Ask(t.Context(), nil, t.Context(), "a", request(), 2*Lives)
		synctest.Wait()
		start := time.Now()
		got := q.Ask(t.Context(), nil, t.Context(), "b", request(), 2*Lives)
		if got.Decision.Verdict != Withdrawn || time.Since(start) != Lives {
			t.Errorf("%v after %v", got.Decision.Verdict, time.Since(start))
		}
		synctest.Wait()
	})
}

func TestNonces(t *testing.T) {
	var n Nonces
	phrase := n.Phrase("s", "/w/a")
	if len(phrase) != 8 {
		t.Errorf("phrase %q is not 8 hex digits", phrase)
	}
	for _, c := range []struct{ name, session, folder, phrase string }{
		{"empty", "s", "/w/a", ""},
		{"wrong", "s", "/w/a", "00000000"},
		{"another folder", "s", "/w/b", phrase},
		{"another session", "t", "/w/a", phrase},
		{"upper case", "s", "/w/a", phrase + " "},
		{"never given", "u", "/w/c", ""},
	} {
		if n.Redeem(c.session, c.folder, c.phrase) {
			t.Errorf("%s: accepted", c.name)
		}
	}
	if n.Phrase("s", "/w/a") != phrase {
		t.Error("the phrase changed after wrong ones")
	}
	if !n.Redeem("s", "/w/a", phrase) {
		t.Error("the right phrase was refused")
	}
	if n.Redeem("s", "/w/a", phrase) {
		t.Error("a phrase was accepted twice")
	}
	if n.Phrase("s", "/w/a") == phrase {
		t.Error("a used phrase was given again")
	}
	again := n.Phrase("s", "/w/a")
	n.End("s")
	if n.Redeem("s", "/w/a", again) {
		t.Error("a phrase outlived its session")
	}
}
