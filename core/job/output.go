package job

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Stream names where a piece of output came from.
type Stream uint8

const (
	Stdout Stream = 1 + iota
	Stderr
)

// How much of a job's output stays in memory: its beginning, and its end.
const (
	headBytes = 64 << 10
	tailBytes = 64 << 10
	// maxFile is how much of one job's output is kept on disk before the file starts anew with its last half.
	maxFile = 50 << 20
)

// Output is what a job has written. It is safe for use by several goroutines.
type Output struct {
	mu         sync.Mutex
	all        buffer // both streams in the order of their arrival
	out, err   buffer
	file       *os.File
	dir, name  string
	path       string
	fileErr    error
	fileSize   int64
	rotated    bool
	background bool
	isHanded   bool
	last       time.Time     // when something was written last
	grown      chan struct{} // closed and replaced when something was written

	readers sync.WaitGroup
	pipes   []*os.File
}

func newOutput(dir, name string, fromStart bool) *Output {
	o := &Output{dir: dir, name: name, background: fromStart, grown: make(chan struct{})}
	if fromStart {
		o.open()
	}
	return o
}

// buffer keeps the head and the tail of a stream.
type buffer struct {
	head, tail []byte
	total      int64
}

func (b *buffer) write(p []byte) {
	b.total += int64(len(p))
	if room := headBytes - len(b.head); room > 0 {
		n := min(room, len(p))
		b.head = append(b.head, p[:n]...)
		p = p[n:]
	}
	b.tail = append(b.tail, p...)
	if len(b.tail) > 2*tailBytes { // cut seldom, so that a write costs what it writes
		b.tail = append(b.tail[:0], b.tail[len(b.tail)-tailBytes:]...)
	}
}

// Text is a stretch of output with what is missing in its middle.
type Text struct {
	Head, Tail []byte
	// Missing is how many bytes between Head and Tail are not in memory.
	Missing int64
	// Total is how many bytes there were in all.
	Total int64
}

func (b *buffer) text() Text {
	tail := b.tail
	if len(tail) > tailBytes {
		tail = tail[len(tail)-tailBytes:]
	}
	return Text{Head: append([]byte(nil), b.head...), Tail: append([]byte(nil), tail...),
		Missing: b.total - int64(len(b.head)) - int64(len(tail)), Total: b.total}
}

func (o *Output) read(out, err *os.File) {
	o.pipes = []*os.File{out, err}
	o.readers.Go(func() { o.copy(out, Stdout) })
	o.readers.Go(func() { o.copy(err, Stderr) })
}

// readTerminal reads what comes out of a terminal as standard output; file is closed at the end.
func (o *Output) readTerminal(file *os.File, r io.Reader) {
	o.pipes = []*os.File{file}
	o.readers.Go(func() { o.copy(r, Stdout) })
}

func (o *Output) copy(r io.Reader, s Stream) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			o.write(s, buf[:n])
		}
		if err != nil {
			return
		}
	}
}

func (o *Output) write(s Stream, p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s == Stdout {
		o.out.write(p)
	} else {
		o.err.write(p)
	}
	// What was held in memory alone goes to the file first, before the buffer lets go of it.
	if o.file == nil && o.fileErr == nil && o.all.total+int64(len(p)) > headBytes {
		o.start()
	}
	o.all.write(p)
	o.save(p)
	o.last = time.Now()
	close(o.grown)
	o.grown = make(chan struct{})
}

// open makes the output file. O_EXCL: the name is new, whatever stands in the folder.
func (o *Output) open() {
	if o.dir == "" {
		o.fileErr = fmt.Errorf("no folder for output")
		return
	}
	root, err := os.OpenRoot(o.dir)
	if err != nil {
		o.fileErr = err
		return
	}
	defer root.Close()
	f, err := root.OpenFile(o.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		o.fileErr = err
		return
	}
	o.file, o.path = f, f.Name()
}

func (o *Output) save(p []byte) {
	if o.file == nil {
		return
	}
	if o.fileSize+int64(len(p)) > maxFile {
		o.rotate()
	}
	if o.file == nil {
		return
	}
	n, err := o.file.WriteAt(p, o.fileSize)
	o.fileSize += int64(n)
	if err != nil {
		o.fileErr = err
		o.file.Close()
		o.file = nil
	}
}

// rotate keeps the last half of a file that has grown to its bound, moved in pieces.
func (o *Output) rotate() {
	buf := make([]byte, 1<<20)
	from, to := o.fileSize-maxFile/2, int64(0)
	var err error
	for err == nil && from < o.fileSize {
		var n int
		if n, err = o.file.ReadAt(buf[:min(int64(len(buf)), o.fileSize-from)], from); n > 0 {
			_, err = o.file.WriteAt(buf[:n], to)
		}
		from, to = from+int64(n), to+int64(n)
	}
	if err == nil {
		err = o.file.Truncate(to)
	}
	if err != nil {
		o.fileErr = err
		o.file.Close()
		o.file = nil
		return
	}
	o.fileSize, o.rotated = to, true
}

// drain waits until both pipes have ended, but no longer than d; then it closes them.
func (o *Output) drain(d time.Duration) {
	ended := make(chan struct{})
	go func() { o.readers.Wait(); close(ended) }()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ended:
	case <-t.C:
	}
	for _, p := range o.pipes {
		p.Close() // ends a Read that still waits
	}
	<-ended
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file != nil && !o.background && !o.isHanded {
		o.file.Close()
		o.file = nil
	}
}

func (o *Output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file != nil {
		o.file.Close()
		o.file = nil
	}
}

func (o *Output) hand() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.isHanded = true
	o.start()
}

// start begins the file, where there is none, with what is in memory.
func (o *Output) start() {
	if o.file == nil && o.fileErr == nil && o.path == "" {
		o.open()
		o.save(o.all.head)
	}
}

// Save puts output that is in memory alone into its file too, and says where that is, as File does.
func (o *Output) Save() (path string, rotated bool, err error) {
	o.mu.Lock()
	o.start()
	o.mu.Unlock()
	return o.File()
}

func (o *Output) handed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.isHanded
}

// All gives both streams in the order of their arrival; Stream gives one.
func (o *Output) All() Text {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.text()
}

// Stream gives one stream.
func (o *Output) Stream(s Stream) Text {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s == Stdout {
		return o.out.text()
	}
	return o.err.text()
}

// File is where the output stands whole, or its last part where it was longer than 50 MB; empty when it is short and in
// memory alone, or when it could not be written, with the reason.
func (o *Output) File() (path string, rotated bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.path, o.rotated, o.fileErr
}

// Grown gives a channel that closes when more has been written than total.
func (o *Output) Grown(total int64) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all.total > total {
		now := make(chan struct{})
		close(now)
		return now
	}
	return o.grown
}

// Last gives the end of the output in the order of its arrival, at most n bytes of it, and how many came before: from
// memory, or from the file where that holds more. Where the file has let go of something or can't be read, it is less.
func (o *Output) Last(n int64) (end []byte, before int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.all.text()
	end = t.Tail
	if t.Missing == 0 {
		end = append(t.Head, t.Tail...)
	} else if want := min(n, o.fileSize); want > int64(len(end)) && o.fileErr == nil {
		if f, err := o.reopen(); err == nil {
			b := make([]byte, want)
			if m, err := f.ReadAt(b, o.fileSize-want); int64(m) == want || err == io.EOF {
				end = b[:m]
			}
			if f != o.file {
				f.Close()
			}
		}
	}
	end = end[max(0, int64(len(end))-n):]
	return end, t.Total - int64(len(end))
}

// reopen gives the output file, anew where it was closed. No link is followed out of its folder.
func (o *Output) reopen() (*os.File, error) {
	if o.file != nil {
		return o.file, nil
	}
	root, err := os.OpenRoot(o.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Open(o.name)
}

// LastWrite is when something was written last; before anything was, it is otherwise.
func (o *Output) LastWrite(otherwise time.Time) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last.IsZero() {
		return otherwise
	}
	return o.last
}
