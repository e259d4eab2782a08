package assistant

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"handrail/core/edit"
	"handrail/core/hint"
)

// settings is an assistant's file, opened: what is checked is what is replaced.
type settings struct {
	kind kind
	path string   // as the assistant finds it
	root *os.Root // the folder that it really lies in
	base string
	text []byte // nil if there is no file
}

var errNoFolder = errors.New("its folder isn't there")

// open reads the file that a path leads to. Links are followed. An error is a hint, or errNoFolder.
func (k kind) open(path string) (*settings, error) {
	s := &settings{kind: k, path: path}
	_, err := os.Lstat(path)
	there := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, k.fileProblem(path, err)
	}
	real, err := filepath.EvalSymlinks(path)
	if !there {
		if real, err = filepath.EvalSymlinks(filepath.Dir(path)); err == nil && isFolder(real) {
			real = filepath.Join(real, filepath.Base(path))
		} else {
			return nil, errNoFolder
		}
	}
	if err != nil {
		return nil, k.fileProblem(path, hint.New("", "it is a link that leads nowhere").Wrap(err))
	}
	if s.root, err = os.OpenRoot(filepath.Dir(real)); err != nil {
		return nil, k.fileProblem(path, err)
	}
	if s.base = filepath.Base(real); !there {
		return s, nil
	}
	if st, err := s.root.Lstat(s.base); err == nil && st.Mode().IsRegular() && st.Size() > maxBytes {
		err = hint.New("", "it has "+strconv.FormatInt(st.Size()>>20, 10)+" MB, and Handrail reads no more than "+strconv.Itoa(maxBytes>>20))
		s.close()
		return nil, k.fileProblem(path, err)
	}
	if s.text, err = edit.ReadWhole(s.root, s.base); err != nil {
		s.close()
		return nil, k.fileProblem(path, err)
	}
	return s, nil
}

func (s *settings) close() {
	if s != nil && s.root != nil {
		s.root.Close()
	}
}

// entry reads what stands under our name. An error is a hint.
func (s *settings) entry() (value any, there bool, err error) {
	value, there, err = read(s.kind.format, s.text, s.kind.container)
	if err != nil {
		err = s.kind.unreadable(s.path, err)
	}
	return value, there, err
}

func (s *settings) replace(text []byte) error { return edit.ReplaceWhole(s.root, s.base, s.text, text) }

func (k kind) taken(a Assistant) error {
	h := hint.New("not_ours", "in the settings of "+k.name+" another program has the name "+entryName)
	if a.Starts != "" {
		h = h.Because("it starts " + shown(a.Starts))
	}
	return h.Then("look at " + shown(a.File) + "; nothing was changed")
}

// unreadable is for a file that can't be read, or can't be changed without touching more. Of the file's text it says nothing.
func (k kind) unreadable(path string, err error) error {
	return hint.New("config_unreadable", "the settings of "+k.name+", "+shown(path)+", can't be read").Because(err.Error()).
		Then("open them in " + k.name + " or a text editor and mend them; Handrail has left them as they were").Wrap(err)
}

// fileProblem is for a file that can't be opened or replaced, whatever is in it.
func (k kind) fileProblem(path string, err error) error {
	why := "the system refuses it"
	if h, ok := errors.AsType[*hint.Hint](err); ok {
		if why = h.What; h.Why != "" {
			why += ": " + h.Why
		}
	} else if errors.Is(err, fs.ErrPermission) {
		why = "you may not"
	}
	return hint.New("config_file", "the settings of "+k.name+", "+shown(path)+", can't be used").Because(why).Then("nothing was changed").Wrap(err)
}

func shown(text string) string { return strconv.QuoteToGraphic(text) }
