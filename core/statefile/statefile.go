// Package statefile replaces Handrail's own small files, such as the tokens and the lasting rules, so that who reads one has the
// old text or the new, never half.
//
// Who changes a file by what stands in it holds its lock from reading to writing, for several of our processes may run. Who only
// reads it needs none.
//
// It is a leaf: it imports no other package of the project.
package statefile

import (
	"errors"
	"os"
	"path/filepath"
)

// Replace puts text in place of a file, or leaves it as it is. The folder must be there. The file gets mode 0600.
func Replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	dir, err := os.Open(filepath.Dir(path)) // its entry for the file is the folder's content
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
