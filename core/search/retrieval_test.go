package search

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// questions are about Go's standard library, with the file that answers each.
var questions = []struct{ question, file string }{
	{"how do I reverse a slice in place", "slices/slices.go"},
	{"binary search in a sorted slice", "slices/sort.go"},
	{"wait for a collection of goroutines to finish", "sync/waitgroup.go"},
	{"run a function exactly once", "sync/once.go"},
	{"reader writer mutual exclusion lock", "sync/rwmutex.go"},
	{"pool of temporary objects to relieve the garbage collector", "sync/pool.go"},
	{"parse a duration string such as 1h15m", "time/format.go"},
	{"how does the ticker work, and does it drop ticks for slow receivers", "time/tick.go"},
	{"escape a string so that it can be placed in a URL query", "net/url/url.go"},
	{"serve static files from a directory over HTTP", "net/http/fs.go"},
	{"graceful shutdown of a web server without interrupting connections", "net/http/server.go"},
	{"cookie jar public suffix list", "net/http/cookiejar/jar.go"},
	{"reverse proxy that forwards requests to another server", "net/http/httputil/reverseproxy.go"},
	{"record an HTTP response in tests", "net/http/httptest/recorder.go"},
	{"decode JSON from an input stream", "encoding/json/stream.go"},
	{"encode binary data as base64", "encoding/base64/base64.go"},
	{"read records from a comma separated values file", "encoding/csv/reader.go"},
	{"hex dump of bytes", "encoding/hex/hex.go"},
	{"compute the SHA-256 checksum of data", "crypto/sha256/sha256.go"},
	{"compare two byte slices in constant time", "crypto/subtle/constant_time.go"},
	{"verify an X.509 certificate chain and its host name", "crypto/x509/verify.go"},
	{"HMAC keyed hash message authentication code", "crypto/hmac/hmac.go"},
	{"walk a file tree and call a function for each file", "path/filepath/path.go"},
	{"does a file name match a shell pattern", "path/match.go"},
	{"create a temporary file with a random name", "os/tempfile.go"},
	{"start an external command and capture its output", "os/exec/exec.go"},
	{"search for an executable in the directories of PATH", "os/exec/lp_unix.go"},
	{"be notified of incoming signals", "os/signal/signal.go"},
	{"extract files from a zip archive", "archive/zip/reader.go"},
	{"write a tar header", "archive/tar/writer.go"},
	{"compress with gzip", "compress/gzip/gzip.go"},
	{"parse command line flags", "flag/flag.go"},
	{"scan text line by line", "bufio/scan.go"},
	{"replace several strings at once", "strings/replace.go"},
	{"edit distance or index of the first occurrence with Rabin-Karp", "internal/bytealg/bytealg.go"},
	{"least recently used doubly linked list", "container/list/list.go"},
	{"priority queue heap interface", "container/heap/heap.go"},
	{"structured logging handler that writes JSON", "log/slog/json_handler.go"},
	{"natural logarithm of a floating point number", "math/log.go"},
	{"greatest common divisor of arbitrary precision integers", "math/big/int.go"},
}

// TestRetrieval asks whole questions of a real corpus, Go's own source.
func TestRetrieval(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	corpus, err := filepath.EvalSymlinks(filepath.Join(strings.TrimSpace(string(root)), "src"))
	if err != nil {
		t.Fatal(err)
	}
	x := open(t, Options{Closed: func(p string) bool {
		rel, err := filepath.Rel(corpus, p)
		top, _, _ := strings.Cut(rel, "/")
		return err != nil || top == "cmd" || top == "runtime" || top == "vendor" || filepath.Base(p) == "testdata" || strings.HasSuffix(p, "_test.go")
	}}, corpus)
	s := x.Status()
	if s.Files < 2000 {
		t.Fatalf("the corpus has only %d files", s.Files)
	}
	found := 0
	began := time.Now()
	for _, q := range questions {
		place := 0
		hits := find(t, x, Query{Text: q.question, Limit: 5})
		for i, h := range hits {
			if h.Path == filepath.Join(corpus, q.file) {
				place = i + 1
			}
		}
		if place > 0 {
			found++
		}
		if *verbose {
			t.Logf("%d  %s: %s", place, q.question, q.file)
			if place == 0 {
				for _, h := range hits {
					t.Logf("      %.2f %s:%d %.60q", h.Score, strings.TrimPrefix(h.Path, corpus), h.Line, h.Text)
				}
			}
		}
	}
	t.Logf("retrieval cases: %d of %d questions answered by one of the first 5 of %d files (%d MB)", found, len(questions), s.Files, s.Bytes>>20)
	if *verbose {
		t.Logf("%v for each", time.Since(began)/time.Duration(len(questions)))
	}
	if len(questions) != 40 || found < 36 {
		t.Errorf("found %d of %d, want 36 of 40", found, len(questions))
	}
}
