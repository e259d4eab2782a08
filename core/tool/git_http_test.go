package tool

import (
	"bytes"
	"encoding/base64"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"handrail/core/approval"
)

// served is a Git server on loopback that wants a name and a password, and a scratch computer whose person has saved them.
type served struct {
	*world
	url, host, password string
	elsewhere           *httptest.Server // where a redirect leads

	mu       sync.Mutex
	signedIn int      // requests that came with the right password
	astray   int      // requests that were led elsewhere
	found    []string // processes that showed the password while git was connected
}

func newServed(t *testing.T) *served {
	s := &served{world: newWorld(t, true), password: "correct-horse-battery"}
	path, err := exec.Command("/usr/bin/git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(s.dir, "served")
	for _, args := range []string{"init --bare hub.git", "-C hub.git config http.receivepack true", "clone hub.git seed", "-C seed commit --allow-empty -m First", "-C seed push origin HEAD:main"} {
		if err := s.git(root, strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
	}
	backend := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"), Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=ann"}}
	s.elsewhere = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.astray++
		http.NotFound(w, r)
	}))
	t.Cleanup(s.elsewhere.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/moved.git/") {
			http.Redirect(w, r, s.elsewhere.URL+strings.TrimPrefix(r.URL.Path, "/moved.git")+"?"+r.URL.RawQuery, http.StatusFound)
			return
		}
		name, password, ok := r.BasicAuth()
		if !ok || name != "ann" || password != s.password {
			w.Header().Set("WWW-Authenticate", `Basic realm="Git"`)
			http.Error(w, "sign in", http.StatusUnauthorized)
			return
		}
		s.mu.Lock()
		s.signedIn++
		s.found = append(s.found, revealing(t, s.secrets()...)...)
		s.mu.Unlock()
		r.Header.Del("Authorization") // it would stand in the environment of the server's own program
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.url, s.host = server.URL, strings.TrimPrefix(server.URL, "http://")
	s.put("h/.gitconfig", []byte("[user]\n\tname = Ann\n\temail = ann@example.com\n[credential]\n\thelper = store\n"))
	s.save(s.password)
	return s
}

// secrets are the forms in which a password could be shown.
func (s *served) secrets() []string {
	return []string{s.password, base64.StdEncoding.EncodeToString([]byte("ann:" + s.password))}
}

// save keeps a password as the person's own helper does.
func (s *served) save(password string) {
	s.put("h/.git-credentials", []byte("http://ann:"+password+"@"+strings.ReplaceAll(s.host, ":", "%3a")+"\nhttp://ann:other-secret@other.example\n"))
}

func (s *served) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signedIn
}

// asks takes what the person was asked since it was last called.
func (s *served) asks() (kinds []approval.Kind) {
	s.person.mu.Lock()
	defer s.person.mu.Unlock()
	for _, r := range s.person.asked {
		kinds = append(kinds, r.Kind)
		if r.Kind != approval.EditFolder && (r.Host != s.host || !strings.HasPrefix(r.Address, s.url)) {
			s.t.Errorf("%s names %q and %q", r.Kind, r.Host, r.Address)
		}
	}
	s.person.asked = nil
	return kinds
}

// The sign-in that the person saved is used once they agree, for the host they were shown; it is seen by git alone.
func TestSignIn(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	var log bytes.Buffer
	s.gate.Log = slog.New(slog.NewTextHandler(&log, nil))
	var said strings.Builder
	play := func(call, want string, kinds ...approval.Kind) {
		t.Helper()
		got := s.play(call)
		said.WriteString(got)
		if !strings.Contains(got, want) || want == "" && strings.HasPrefix(got, "error") {
			t.Errorf("%s: want %q, got %s", call, want, got)
		}
		if asked := s.asks(); !slices.Equal(asked, kinds) {
			t.Errorf("%s: asked %q, want %q", call, asked, kinds)
		}
	}
	allow := func(n int) {
		for range n {
			s.person.will("allow")
		}
	}
	allow(3)
	play(`{"git": {"action": "clone", "url": "`+s.url+`/hub.git", "repo": "copy"}}`, "Your branch is up to date", approval.EditFolder, approval.Loopback, approval.GitSignIn)
	play(`{"git": {"action": "fetch", "repo": "copy"}}`, "done")

	// Programs that the repository names are asked for no sign-in, and get none.
	s.put("w/evil", []byte("#!/bin/sh\ncat > "+s.path("w/copy/.git/stolen")+"\necho username=ann; echo password=evil\n"))
	s.do([]string{"program", "w/evil"})
	config := s.path("w/copy/.git/config")
	before, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	evil := s.path("w/evil")
	hostile := strings.ReplaceAll("[core]\n\taskPass = EVIL\n[credential]\n\thelper = EVIL\n[credential \""+s.url+"\"]\n\thelper = EVIL\n[http]\n\tproxy = "+s.elsewhere.URL+"\n[http \""+s.url+"/\"]\n\tproxy = "+
		s.elsewhere.URL+"\n\tfollowRedirects = true\n\textraHeader = X-Evil: 1\n[remote \"origin\"]\n\tproxy = "+s.elsewhere.URL+"\n", "EVIL", evil)
	if err := os.WriteFile(config, append(before, hostile...), 0o644); err != nil {
		t.Fatal(err)
	}
	play(`{"write_file": {"path": "copy/a.txt", "content": "one\n"}}`, "")
	play(`{"git": {"action": "add", "repo": "copy", "paths": ["a.txt"]}}`, "")
	play(`{"git": {"action": "commit", "repo": "copy", "message": "Second"}}`, "")
	s.person.will("refuse")
	n := s.requests()
	play(`{"git": {"action": "push", "repo": "copy"}}`, "[refused]", approval.GitPush)
	if s.requests() != n {
		t.Error("a push that was refused reached the server")
	}
	allow(1)
	play(`{"git": {"action": "push", "repo": "copy"}}`, "-> main", approval.GitPush)
	if out, err := exec.Command("/usr/bin/git", "-c", "safe.directory=*", "-C", filepath.Join(s.dir, "served", "hub.git"), "log", "--format=%s", "main").CombinedOutput(); err != nil || string(out) != "Second\nFirst\n" {
		t.Errorf("the server has %q, %v", out, err)
	}
	if _, err := os.Stat(s.path("w/copy/.git/stolen")); err == nil {
		t.Error("a program of the repository's was asked for the sign-in")
	}
	if err := os.WriteFile(config, before, 0o644); err != nil {
		t.Fatal(err)
	}

	// Another session is asked anew, and gets nothing without a yes.
	s.now = "b"
	allow(2)
	s.person.will("refuse")
	n = s.requests()
	play(`{"git": {"action": "fetch", "repo": "copy"}}`, "[refused]", approval.EditFolder, approval.Loopback, approval.GitSignIn)
	if s.requests() != n {
		t.Error("a sign-in that was refused was used")
	}
	allow(1)
	play(`{"git": {"action": "fetch", "repo": "copy"}}`, "done", approval.GitSignIn)

	// What is saved is wrong, or nothing is; a redirect is not followed.
	s.save("stale-password")
	play(`{"git": {"action": "fetch", "repo": "copy"}}`, "hint: the saved sign-in was refused")
	s.put("h/.git-credentials", nil)
	play(`{"git": {"action": "fetch", "repo": "copy"}}`, "[no_sign_in]")
	s.save(s.password)
	play(`{"git": {"action": "remote", "mode": "add", "repo": "copy", "name": "moved", "url": "`+s.url+`/moved.git"}}`, "")
	play(`{"git": {"action": "fetch", "repo": "copy", "remote": "moved"}}`, "exit code 128")
	if s.astray > 0 {
		t.Errorf("%d requests went elsewhere", s.astray)
	}

	if len(s.found) > 0 {
		t.Errorf("the password stood in a process: %q", s.found)
	}
	s.close()
	texts := map[string]string{"the answers": said.String(), "the log of errors": log.String()}
	err = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || path == s.path("h/.git-credentials") {
			return err
		}
		text, err := os.ReadFile(path)
		texts[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range texts {
		for _, secret := range append(s.secrets(), "stale-password", "other-secret") {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %q", name, secret)
			}
		}
	}
}

// A process that shows a secret is found: else the test above would prove nothing.
func TestRevealing(t *testing.T) {
	for _, c := range []struct {
		argv, env []string
	}{
		{[]string{"/bin/sh", "-c", "echo; read x; : shown-in-argv"}, nil},
		{[]string{"/bin/sh", "-c", "echo; read x"}, []string{"SECRET=shown-in-environment"}},
	} {
		cmd := exec.Command(c.argv[0], c.argv[1:]...)
		cmd.Env = c.env
		in, err := cmd.StdinPipe()
		var out io.Reader
		if err == nil {
			out, err = cmd.StdoutPipe()
		}
		if err == nil {
			err = cmd.Start()
		}
		if err == nil {
			_, err = out.Read(make([]byte, 1)) // before it runs, the system may not show what it was given
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(revealing(t, "shown-in-argv", "shown-in-environment")) == 0 {
			t.Errorf("%q %q was not found", c.argv, c.env)
		}
		in.Close()
		cmd.Wait()
	}
}
