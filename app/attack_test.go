//go:build linux || darwin

package app

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"handrail/core/approval"
)

// oneOfEach is a question of each kind.
func oneOfEach() map[approval.Kind]approval.Request {
	all := make(map[approval.Kind]approval.Request)
	for _, q := range questions {
		if _, ok := all[q.request.Kind]; !ok {
			all[q.request.Kind] = q.request
		}
	}
	return all
}

// asks is a function as an Asker.
type asks func(context.Context, approval.Request) approval.Decision

func (f asks) Ask(ctx context.Context, r approval.Request) approval.Decision { return f(ctx, r) }

// others are requests that differ from r in what makes another question, or another asker, of it.
func others(r approval.Request) map[string]approval.Request {
	list := make(map[string]approval.Request)
	add := func(name string, f func(*approval.Request)) {
		changed := r
		if r.Command != nil {
			c := *r.Command
			changed.Command = &c
		}
		if r.Undo != nil {
			u := *r.Undo
			changed.Undo = &u
		}
		if r.Policy != nil {
			p := *r.Policy
			changed.Policy = &p
		}
		if r.Switch != nil {
			s := *r.Switch
			changed.Switch = &s
		}
		if r.Setting != nil {
			s := *r.Setting
			changed.Setting = &s
		}
		if r.Pairing != nil {
			p := *r.Pairing
			changed.Pairing = &p
		}
		f(&changed)
		list[name] = changed
	}
	for kind := range oneOfEach() {
		if kind != r.Kind {
			add("swap: kind "+string(kind), func(r *approval.Request) { r.Kind = kind })
		}
	}
	add("swap: tool", func(r *approval.Request) { r.Tool += "x" })
	add("swap: folder", func(r *approval.Request) { r.Folder += "/x" })
	add("swap: folder behind a link", func(r *approval.Request) { r.FolderID.Inode++ })
	add("swap: file", func(r *approval.Request) { r.Path += "x" })
	add("swap: host", func(r *approval.Request) { r.Host += "x" })
	add("swap: commit", func(r *approval.Request) { r.Commit += "x" })
	add("swap: diff", func(r *approval.Request) { r.Diff += "+x" })
	add("swap: script", func(r *approval.Request) { r.Script += "; rm x" })
	add("swap: one folder more", func(r *approval.Request) {
		r.Also = append(r.Also[:len(r.Also):len(r.Also)], approval.Place{Folder: "/x"})
	})
	if r.Command != nil {
		add("swap: command", func(r *approval.Request) { r.Command.Runs += " x" })
		add("swap: program", func(r *approval.Request) {
			r.Command.Files = append(r.Command.Files[:0:0], r.Command.Files...)
			r.Command.Files[0].ID.Inode++
		})
		add("swap: a rule with it", func(r *approval.Request) { r.Command.Rule = &approval.Rule{Program: "/bin/x"} })
	}
	if r.Policy != nil {
		add("swap: policy", func(r *approval.Request) { r.Policy.SHA256 = "0d" })
	}
	if r.Undo != nil {
		add("swap: change", func(r *approval.Request) { r.Undo.Change += "x" })
		add("swap: one file more", func(r *approval.Request) { r.Undo.Gone = append(r.Undo.Gone[:len(r.Undo.Gone):len(r.Undo.Gone)], "/x") })
	}
	if r.Switch != nil {
		add("swap: switch", func(r *approval.Request) { r.Switch.Name = "docker" })
		add("swap: whose switch", func(r *approval.Request) { r.Switch.Client += "x" })
		add("swap: a tool for a switch", func(r *approval.Request) { r.Switch.Tool = !r.Switch.Tool })
	}
	if r.Setting != nil {
		add("swap: setting", func(r *approval.Request) { r.Setting.Name = "presence" })
		add("swap: its value", func(r *approval.Request) { r.Setting.Now += "x" })
		add("swap: another folder in its place", func(r *approval.Request) { r.Setting.FolderID.Inode++ })
	}
	if r.Pairing != nil {
		for name, swap := range map[string]func(*approval.Pairing){
			"client": func(p *approval.Pairing) { p.ClientSHA256 = "0e" }, "redirect": func(p *approval.Pairing) { p.Redirect += "x" },
			"resource": func(p *approval.Pairing) { p.Resource += "x" }, "level": func(p *approval.Pairing) { p.Level += "x" },
			"challenge": func(p *approval.Pairing) { p.Challenge += "x" }, "name": func(p *approval.Pairing) { p.Name += "x" },
		} {
			add("swap: pairing's "+name, func(r *approval.Request) { swap(r.Pairing) })
		}
	}
	add("impersonate: client", func(r *approval.Request) { r.Who.ID += "x" })
	add("impersonate: session", func(r *approval.Request) { r.Session += "x" })
	add("impersonate: name", func(r *approval.Request) { r.Who.Name += "x" })
	add("impersonate: program", func(r *approval.Request) { r.Who.Program += "x" })
	add("impersonate: signature", func(r *approval.Request) { r.Who.Signed += "x" })
	return list
}

// TestAttackTable plays every attack against every kind of question on every surface. All are refused.
func TestAttackTable(t *testing.T) {
	all := oneOfEach()
	if len(all) != 22 {
		t.Fatalf("%d kinds of questions", len(all))
	}
	var rows atomic.Int64
	refused := func(t *testing.T, name string, d approval.Decision, r approval.Request) {
		t.Helper()
		rows.Add(1)
		if d.Covers(r) == nil {
			t.Errorf("%s: allowed", name)
		}
	}
	t.Cleanup(func() { fmt.Printf("attack table cases: %d\n", rows.Load()) })

	for kind, r := range all {
		for _, surface := range []string{surfaceDialog, surfaceTerminal} {
			// Whatever the surface, what it gives is a decision on one request, and passes through the queue.
			t.Run(fmt.Sprintf("%s/%s/decision", kind, surface), func(t *testing.T) {
				t.Parallel()
				allowed := approval.Allow(r, surface)
				if allowed.Covers(r) != nil {
					t.Fatal("a decision on this very request doesn't cover it")
				}
				for name, other := range others(r) {
					refused(t, name, allowed, other)
				}
				refused(t, "forge: the zero decision", approval.Decision{}, r)
				refused(t, "forge: bound to nothing", approval.Decision{Verdict: approval.Allowed, Surface: surface}, r)
				refused(t, "forge: a refusal that says it allows", approval.Refuse(approval.Allowed, surface, "yes"), r)
				if r.Command == nil {
					refused(t, "forge: a rule that wasn't offered", approval.AllowAlways(r, surface), r)
				}
				// The session ends while the person clicks.
				ctx, end := context.WithCancel(t.Context())
				q := approval.NewQueue(asks(func(_ context.Context, r approval.Request) approval.Decision {
					end()
					return approval.Allow(r, surface)
				}), nil)
				refused(t, "race: with the session's end", q.Ask(t.Context(), nil, ctx, "key", r, time.Minute).Decision, r)
				// One answer for one call: of many that wait for it one has it, and who comes later is asked anew.
				if kind.Once() {
					var shown atomic.Int64
					waits := make(chan struct{})
					q := approval.NewQueue(asks(func(_ context.Context, r approval.Request) approval.Decision {
						<-waits
						if shown.Add(1) > 1 {
							return approval.Refuse(approval.Refused, surface, "")
						}
						return approval.Allow(r, surface)
					}), nil)
					var callers sync.WaitGroup
					var got atomic.Int64
					for range 10 {
						callers.Go(func() {
							if a := q.Ask(t.Context(), nil, t.Context(), "key", r, time.Minute); a.Decision.Covers(r) == nil {
								got.Add(1)
							}
						})
					}
					close(waits)
					callers.Wait()
					rows.Add(10)
					if got.Load() > 1 {
						t.Errorf("race: %d calls ran by one answer", got.Load())
					}
					refused(t, "replay: the answer again", q.Ask(t.Context(), nil, t.Context(), "key", r, time.Minute).Decision, r)
				}
				// No client has more than a few questions wait, and one at a time is shown.
				ctx, end = context.WithCancel(t.Context())
				var shown atomic.Int64
				q = approval.NewQueue(asks(func(ctx context.Context, r approval.Request) approval.Decision {
					shown.Add(1)
					<-ctx.Done()
					return approval.Refuse(approval.Withdrawn, surface, "")
				}), nil)
				for i := range 20 {
					a := q.Ask(t.Context(), nil, ctx, fmt.Sprint(i), r, 0)
					if rows.Add(1); (a.Pending != "") != (i < approval.PerClient) || a.Decision.Verdict == approval.Allowed {
						t.Errorf("flood: question %d: %+v", i, a)
					}
				}
				if n := shown.Load(); n > 1 {
					t.Errorf("flood: %d are shown", n)
				}
				end()
			})
		}

		t.Run(string(kind)+"/dialog", func(t *testing.T) {
			t.Parallel()
			said := filepath.Join(t.TempDir(), "said")
			dialog := func(fake string) *Dialog {
				d := testDialog(t, fake)
				d.start = func() (*dialogProcess, error) {
					cmd := exec.Command(os.Args[0])
					cmd.Env = []string{fakeDialog + "=" + fake, fakeSaid + "=" + said}
					return run(cmd, func(int) error { return nil })
				}
				return d
			}
			if d := dialog("allows").Ask(t.Context(), r); d.Covers(r) != nil {
				t.Fatalf("a click on Allow doesn't allow: %+v", d)
			}
			for attack, fakes := range map[string][]string{
				"replay": {"replays"},
				"forge":  {"answers unseen", "everything in one line", "junk after shown", "no nonce", "another nonce", "empty nonce", "unknown answer", "quiet", "is told to terminate"},
				"race":   {"allows twice", "allows, then refuses", "allows and fails", "two answers in a line"},
			} {
				for _, fake := range fakes {
					refused(t, attack+": a dialog that "+fake, dialog(fake).Ask(t.Context(), r), r)
				}
			}
			other := r
			if other.Who.ID = ""; kind == approval.WidenPolicy || kind == approval.UndoChange || kind == approval.TurnOn || kind == approval.ChangeSetting || kind == approval.Connect || kind == approval.NewToken {
				other.Who = claude // no client asks for that
			}
			refused(t, "impersonate: nobody, or who must not ask", dialog("allows").Ask(t.Context(), other), other)
		})

		t.Run(string(kind)+"/terminal", func(t *testing.T) {
			t.Parallel()
			for name, c := range map[string]struct{ how, before, typed string }{
				"forge: typed before it is shown":          {"impatient", "yes\nyes\n", ""},
				"forge: another word":                      {"", "", "allow\n"},
				"race: with the end of the terminal":       {"", "", "yes\x04"},
				"replay: an answer to the question before": {"twice", "", "yes\nyes\nyes\n"},
			} {
				rows.Add(1)
				if got, _ := onTerminal(t, "en", string(kind), c.how, c.before, c.typed); !strings.Contains(got, " false (") {
					t.Errorf("%s: %s", name, got)
				}
			}
		})

		t.Run(string(kind)+"/nonce", func(t *testing.T) {
			rows.Add(1)
			if got, want := kind.ByPhrase(), kind == approval.EditFolder || kind == approval.EditCopies; got != want {
				t.Fatalf("a phrase answers it: %v", got)
			}
			if !kind.ByPhrase() {
				return
			}
			var n approval.Nonces
			phrase := n.Phrase("s", r.Folder)
			for name, x := range map[string][3]string{
				"forge: none": {"s", r.Folder, ""}, "forge: a guess": {"s", r.Folder, "00000000"}, "forge: words": {"s", r.Folder, "yes"}, "forge: cut": {"s", r.Folder, phrase[:7]}, "forge: longer": {"s", r.Folder, phrase + "0"},
				"swap": {"s", r.Folder + "x", phrase}, "impersonate": {"t", r.Folder, phrase}, "impersonate: joined names": {"s\x00" + r.Folder, "", phrase},
			} {
				if rows.Add(1); n.Redeem(x[0], x[1], x[2]) {
					t.Errorf("%s: redeemed", name)
				}
			}
			for i := range 1000 { // guesses don't use it up, and don't make another
				n.Redeem("s", r.Folder, fmt.Sprint(i))
			}
			var all sync.WaitGroup
			var got atomic.Int64
			for range 20 {
				all.Go(func() {
					if n.Redeem("s", r.Folder, phrase) {
						got.Add(1)
					}
				})
			}
			all.Wait()
			if rows.Add(21); got.Load() != 1 {
				t.Errorf("race: redeemed %d times", got.Load())
			}
			if n.Redeem("s", r.Folder, phrase) {
				t.Error("replay: redeemed again")
			}
		})
	}
}
