package edit

import (
	"bytes"
	"os"

	"handrail/core/hint"
)

// ReadWhole gives all bytes of a file, whatever they are: a program's settings, which are changed by one who knows their format, and
// not as text. It never waits for a FIFO or a device. A file of more than MaxBytes is an error.
func ReadWhole(root *os.Root, name string) ([]byte, error) {
	t, err := acquire(root, name, Options{NoLinks: true}, false)
	if err != nil {
		return nil, err
	}
	defer t.close()
	if t.file == nil {
		return nil, hint.New("not_found", shown(t.name)+" doesn't exist")
	}
	if err := t.read(); err != nil {
		return nil, err
	}
	return t.content, nil
}

// ReplaceWhole puts content in the place of was, the bytes that ReadWhole gave, as Write does, but without a look at what they mean.
// If the file holds other bytes by now, nothing is done (stale). A nil was stands for no file: then a new one is made, with mode
// 0600; a nil content takes the file away. Its folder must be there. What Write refuses is refused: read_only, hard_link.
func ReplaceWhole(root *os.Root, name string, was, content []byte) error {
	if int64(len(content)) > MaxBytes {
		return tooLarge("the content", int64(len(content)))
	}
	t, err := acquire(root, name, Options{NoLinks: true}, was == nil)
	if err != nil {
		return err
	}
	defer t.close()
	switch {
	case was == nil && t.file != nil:
		return stale(t.name, "it wasn't there")
	case was == nil && (content == nil || len(t.missing) > 0):
		return hint.New("not_found", shown(t.name)+" doesn't exist")
	case was != nil:
		if err := t.load(); err != nil {
			return err
		}
		if !bytes.Equal(t.content, was) {
			return stale(t.name, "its content is another")
		}
	}
	like := t.like()
	if t.file == nil {
		like.perm = 0o600
	}
	p := t.removal()
	if content != nil {
		if p, err = t.prepare(content, like); err != nil {
			return err
		}
	}
	defer p.abandon()
	return t.change(p, &Result{})
}
