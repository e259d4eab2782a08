package tool

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"handrail/core/client"
	"handrail/core/command"
)

// keepFolder gives the text by which a shell runs a script and then writes the folder that it ended in to a file of the
// session's. The script stays as it is; one that sets a trap for its own end, or becomes another program, keeps no folder.
func keepFolder(script, file string) string {
	return "trap " + command.Quote("command pwd -P > "+command.Quote(file)) + " EXIT; " + script
}

// maxFolder is how long a path is read from the file.
const maxFolder = 4096

// folderKept reads the file that keepFolder's text wrote and removes it; "" if there is no path in it. The file is the
// command's work, so the path is checked like any that a client names when it is used.
func folderKept(file string) string {
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return ""
	}
	defer root.Close()
	defer root.Remove(filepath.Base(file))
	f, err := root.OpenFile(filepath.Base(file), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFolder))
	path, ended := strings.CutSuffix(string(text), "\n")
	if err != nil || !ended || !filepath.IsAbs(path) || strings.ContainsAny(path, "\x00\n") {
		return ""
	}
	return path
}

// folderOf is the folder in which a session's last command that asked for it ended; "" if there is none.
func (g *Gate) folderOf(s *client.Session) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.folders[s.ID]
}

// setFolder keeps a folder for the session's next command; "" forgets it.
func (g *Gate) setFolder(s *client.Session, path string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.folders == nil {
		g.folders = make(map[string]string)
	}
	if _, has := g.folders[s.ID]; !has {
		context.AfterFunc(s.Context(), func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			delete(g.folders, s.ID)
		})
	}
	if s.Context().Err() == nil {
		g.folders[s.ID] = path
	}
}
