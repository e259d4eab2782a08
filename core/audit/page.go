package audit

import (
	"bytes"
	"fmt"
	"io"
)

// Page gives records from the end of the log on, the newest first: those before the place that an earlier Page gave, or the last
// ones if before is 0. It gives at most most records and about so many bytes of them, but one at least. next is where to go on;
// 0 says that there are no more. Lines that are no whole record are passed over: Verify finds them.
func (l *Log) Page(before int64, most, size int) (records []Record, next int64, err error) {
	info, err := l.file.Stat()
	if err != nil {
		return nil, 0, fmt.Errorf("reading the activity log: %w", err)
	}
	if before <= 0 || before > info.Size() {
		before = info.Size()
	}
	return page(l.file, before, most, size)
}

// maxLine is how long a line may be, as for lines.
const maxLine = 1 << 20

func page(file io.ReaderAt, before int64, most, size int) (records []Record, next int64, err error) {
	var b []byte // what stands from start to the line that is looked for
	start, taken := before, 0
	whole := false // the end of b is that of a line
	for len(records) < max(most, 1) && (taken < size || len(records) == 0) {
		i := bytes.LastIndexByte(b, '\n')
		if i < 0 && start > 0 {
			if len(b) > maxLine {
				return nil, 0, fmt.Errorf("reading the activity log: a line before byte %d is too long", before)
			}
			n := min(start, 64<<10)
			more := make([]byte, n, int(n)+len(b))
			if _, err := file.ReadAt(more, start-n); err != nil {
				return nil, 0, fmt.Errorf("reading the activity log: %w", err)
			}
			b, start = append(more, b...), start-n
			continue
		}
		if i < 0 && len(b) == 0 {
			break
		}
		line := b[i+1:]
		if whole {
			if r, _, ok := split(line); ok {
				records = append(records, r)
			}
			taken += len(line)
		}
		if i < 0 {
			b = nil
			break
		}
		b, whole = b[:i], true
		next = start + int64(i) + 1
	}
	if len(b) == 0 && start == 0 {
		return records, 0, nil
	}
	return records, next, nil
}
