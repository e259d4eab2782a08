package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Report is what Verify found. The zero value has verified nothing.
type Report struct {
	Records  int
	Findings []string // empty: the log is whole
	// Keyed is false when the chain has no key: then Findings covers accidents only.
	Keyed bool
}

// Verify reads the log at path and its anchor and names each record that was edited, removed, inserted or torn, and a
// log whose end is missing. A log that was chained anew is found by its MACs when there is a key, and by the anchor
// when there is none, unless the anchor was replaced too. The error says that a file could not be read.
//
// It may run beside the writer: a log that is one record ahead of its anchor is whole.
func Verify(path, anchor string, key []byte) (Report, error) {
	rep := Report{Keyed: len(key) > 0}
	mark, markErr := os.ReadFile(anchor) // before the log, which may grow meanwhile
	file, err := os.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && errors.Is(markErr, fs.ErrNotExist) {
			return rep, nil
		}
		return rep, fmt.Errorf("reading the activity log: %w", err)
	}
	defer file.Close()
	found := func(format string, args ...any) { rep.Findings = append(rep.Findings, fmt.Sprintf(format, args...)) }

	head, seq, n := genesis, uint64(0), 0
	heads := map[uint64]string{0: genesis}
	err = lines(file, func(line []byte, whole bool) {
		n++
		r, body, ok := split(line)
		if !ok || !whole {
			found("line %d is torn: it is no whole record", n)
			return
		}
		rep.Records++
		switch {
		case mac(key, body) != r.MAC:
			found("line %d (record %d) was edited, or was not written with this key", n, r.Seq)
		case r.Prev != head && r.Seq == seq+1:
			found("line %d (record %d) does not follow the record before it", n, r.Seq)
		case r.Prev != head:
			found("line %d: record %d follows record %d: records were removed, inserted or moved", n, r.Seq, seq)
		}
		head, seq = r.MAC, r.Seq
		heads[seq] = head
	})
	if err != nil {
		return rep, fmt.Errorf("reading the activity log: %w", err)
	}
	switch count, last, ok := unseal(key, mark); {
	case markErr != nil:
		found("the anchor is missing: whether the end was cut off can't be told")
	case !ok:
		found("the anchor was edited, or was not written with this key")
	case count > seq:
		found("the end was cut off: record %d of %d is the last one left", seq, count)
	case heads[count] != last:
		found("record %d is not the one that was anchored: the log was chained anew", count)
	case !rep.Keyed && seq > count+1:
		found("%d records were added after the anchor", seq-count)
	}
	return rep, nil
}
