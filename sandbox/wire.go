package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// wire carries the fields of a plan or a report, one after another in one fixed order: each field's method adds it to the text,
// or takes it from there. Both ends are the same version of Handrail. The launcher is started for each command, so it must not
// wait until encoding/json is ready.
type wire struct {
	text   []byte
	taking bool
	bad    bool // the text isn't what was written
}

func (w *wire) number(n *uint64) {
	if !w.taking {
		w.text = binary.AppendUvarint(w.text, *n)
		return
	}
	v, size := binary.Uvarint(w.text)
	if size <= 0 {
		w.bad, w.text = true, nil
		return
	}
	*n, w.text = v, w.text[size:]
}

func (w *wire) bytes(b *[]byte) {
	n := uint64(len(*b))
	w.number(&n)
	if !w.taking {
		w.text = append(w.text, *b...)
		return
	}
	if n > uint64(len(w.text)) {
		w.bad, w.text = true, nil
		return
	}
	if *b = nil; n > 0 {
		*b = w.text[:n:n]
	}
	w.text = w.text[n:]
}

func (w *wire) string(s *string) {
	if !w.taking {
		n := uint64(len(*s))
		w.number(&n)
		w.text = append(w.text, *s...)
		return
	}
	var b []byte
	w.bytes(&b)
	*s = string(b)
}

func (w *wire) int(n *int) {
	u := uint64(*n)
	w.number(&u)
	*n = int(u)
}

func (w *wire) bool(b *bool) {
	u := uint64(0)
	if *b {
		u = 1
	}
	w.number(&u)
	*b = u == 1
}

// each carries a slice, an element at a time.
func each[T any](w *wire, all *[]T, one func(*wire, *T)) {
	n := uint64(len(*all))
	w.number(&n)
	if w.taking {
		if *all = nil; n > uint64(len(w.text)) { // an element is one byte at least
			w.bad, w.text = true, nil
			return
		}
		if n > 0 {
			*all = make([]T, n)
		}
	}
	for i := range *all {
		one(w, &(*all)[i])
	}
}

func (w *wire) strings(all *[]string) { each(w, all, (*wire).string) }

// take reads what carry wrote, and nothing else.
func take(text []byte, carry func(*wire)) error {
	w := &wire{text: text, taking: true}
	carry(w)
	if w.bad || len(w.text) > 0 {
		return errors.New("it isn't what was written")
	}
	return nil
}

// maxReport bounds a report, in bytes.
const maxReport = 1 << 16

// send writes a report, its length first. Who reads it may be gone.
func (r report) send(to io.Writer) {
	w := &wire{}
	r.carry(w)
	to.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(w.text))), w.text...))
}

// readReport reads the next report.
func readReport(from io.Reader) (r report, err error) {
	var size [4]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return r, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxReport {
		return r, fmt.Errorf("reading a report: it has %d bytes", n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(from, text); err != nil {
		return r, err
	}
	if err := take(text, r.carry); err != nil {
		return report{}, fmt.Errorf("reading a report: %w", err)
	}
	return r, nil
}
