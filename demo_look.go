package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"handrail/core"
)

// lookFiles are what stands in the workspace when the level look is played, and outside it in the home folder.
var lookFiles = map[string]string{
	"Handrail/Letters/aunt.txt": "Dear aunt,\nthank you for the plums.\n", "Handrail/Letters/bank.txt": "Dear bank,\nplease stop writing.\n", "Handrail/Photos/captions.txt": "beach\nmountain\n",
	"Handrail/shop/.env": "MODE=live\n", "Handrail/shop/main.js": "start()\n", "Handrail/shop/old.cfg": "db_password: h3rring!x\n", ".ssh/id_ed25519": "not a real key\n",
}

// lookStep is one call of the client that may only look, and how the answer must begin or what it must hold.
type lookStep struct {
	does    string
	command string
	refused string // the code of the refusal; "" if it runs
	holds   string
	not     string
}

var lookSteps = []lookStep{
	{"counts files through a pipe", "find . -type f | wc -l", "", "6", ""},
	{"searches the whole text", "grep -rn -i plums .", "", "aunt.txt:2", ""},
	{"lists names; what is closed to assistants is left out", "find . -type f | sort", "", "left out", ".env"},
	{"tries to write", "echo x > made.txt", "not_read_only", "redirects", ""},
	{"tries a chain", "ls; rm -rf Letters", "not_read_only", "rm -rf", ""},
	{"tries to run a program by a flag of find", `find . -name aunt.txt -e\xec touch made.txt \;`, "not_read_only", "find -exec", ""},
	{"tries a program that isn't on the list", "curl https://example.com", "not_read_only", "curl", ""},
	{"tries to read a key", "cat ~/.ssh/id_ed25519", "denied", "closed to assistants", "not a real key"},
	{"tries to read a .env", "cat shop/.env", "denied", "closed to assistants", "live"},
	{"reads a file that holds a password", "cat shop/old.cfg", "credential", "withheld", "h3rring"},
	{"tries to list the home folder, which nobody opened", "ls ~", "", "", "id_ed25519"},
}

// searches plays rag_search: first while nobody has chosen a folder, then when the workspace is chosen, and read.
func (d *demo) searches(ctx context.Context) error {
	const query = "thanks for the plums, or a password"
	ask := map[string]any{"query": query}
	text, failed, err := d.call(ctx, "rag_search", ask)
	if err != nil {
		return err
	}
	d.step("it looks for files by what is in them: %s\n%s", query, indent(text))
	if !failed || !strings.HasPrefix(text, "[no_index]") {
		return fmt.Errorf("it searched folders that nobody chose: %s", text)
	}
	d.step("the person chooses the workspace, with `handrail search add`")
	if err := core.AddSearchFolders(d.state, d.workspace); err != nil {
		return err
	}
	for failed || strings.Contains(text, "still being read") {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		if text, failed, err = d.call(ctx, "rag_search", ask); err != nil {
			return err
		}
		if failed {
			return fmt.Errorf("searching: %s", text)
		}
	}
	d.step("it looks again\n%s", indent(text))
	if !strings.Contains(text, "aunt.txt:") || !strings.Contains(text, "left out: 1") || strings.Contains(text, "h3rring") || strings.Contains(text, ".env") {
		return fmt.Errorf("it found %q", text)
	}
	return nil
}

// look plays the level look with a client of its own on `handrail serve --stdio --level look`. Nobody is asked anything.
func (d *demo) look(ctx context.Context) error {
	for name, text := range lookFiles {
		path := filepath.Join(d.home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	d.step("connecting an assistant that may only look")
	server := exec.Command(d.exe, "serve", "--stdio", "--level", "look", "--surface", "none", "--state", d.state, "--workspace", d.workspace)
	server.Env, server.Stderr = d.environment(), os.Stderr
	var err error
	d.client, err = mcp.NewClient(&mcp.Implementation{Name: "Demo Assistant", Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: server}, nil)
	if err != nil {
		return err
	}
	defer d.client.Close()
	list, err := d.client.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "bash list_files rag_search read_file request_access" {
		return fmt.Errorf("it sees %s", got)
	}
	d.step("it sees these tools: %s", strings.Join(names, ", "))
	if err := d.searches(ctx); err != nil {
		return err
	}
	for _, s := range lookSteps {
		text, failed, err := d.call(ctx, "bash", map[string]any{"command": s.command})
		if err != nil {
			return err
		}
		d.step("it %s\n    $ %s\n%s", s.does, s.command, indent(text))
		switch {
		case s.refused != "" && (!failed || !strings.HasPrefix(text, "["+s.refused+"]")):
			return fmt.Errorf("%s: %s was not refused", s.does, s.command)
		case s.refused == "" && s.holds != "" && failed, !strings.Contains(text, s.holds), s.not != "" && strings.Contains(text, s.not):
			return fmt.Errorf("%s: %s gave %q", s.does, s.command, text)
		}
	}
	for name, want := range lookFiles {
		if data, err := os.ReadFile(filepath.Join(d.home, name)); err != nil || string(data) != want {
			return fmt.Errorf("%s was changed", name)
		}
	}
	if _, err := os.Lstat(filepath.Join(d.workspace, "made.txt")); err == nil {
		return fmt.Errorf("a file was made")
	}
	d.step("nothing was changed")
	return nil
}
