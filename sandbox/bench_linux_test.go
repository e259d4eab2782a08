package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// `true` through the whole sandbox, beside its floor: the same mounts by bubblewrap alone, and bubblewrap with the fewest.
func BenchmarkTrue(b *testing.B) {
	bench := benchFor(b)
	grants := func(n int) Policy {
		p := Guarded(bench.m)
		for i := range n {
			p = p.AllowWrite(bench.mkdir(fmt.Sprintf("%s/g%04d", bench.m.Workspace, i)))
		}
		return p
	}
	secrets := func(n int) Policy {
		m := bench.m
		for i := range n {
			m.Secrets = append(m.Secrets, fmt.Sprintf("%s/secret%d", m.Home, i))
		}
		return Guarded(m).AllowWrite(bench.mkdir(m.Workspace + "/g"))
	}
	plain := grants(1)
	start := func(p Policy) func() {
		return func() {
			proc, err := Start(p, Command{Argv: []string{"/usr/bin/true"}, Dir: bench.m.Workspace})
			if err != nil {
				b.Fatal(err)
			}
			if exit, err := proc.Wait(); err != nil || exit.Code != 0 {
				b.Fatal(exit, err)
			}
		}
	}
	// One after another, so that whatever else the computer does falls on all alike.
	ways := []struct {
		name string
		do   func()
	}{
		{"floor", func() {
			run(b, "/usr/bin/bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev",
				"--new-session", "--die-with-parent", "--as-pid-1", "/usr/bin/true")
		}},
		{"same-mounts", func() {
			var files []*os.File
			v, err := newView(plain, func(f *os.File) int { files = append(files, f); return 2 + len(files) })
			if err != nil {
				b.Fatal(err)
			}
			defer v.close()
			if err := v.list(plain); err != nil {
				b.Fatal(err)
			}
			cmd := exec.Command("/usr/bin/bwrap", append(v.args, "/usr/bin/true")...)
			cmd.ExtraFiles = files
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}},
		{"guarded", start(plain)},
		{"1000-grants", start(grants(1000))},
		{"1000-secrets", start(secrets(1000))},
		{"readonly", start(ReadOnly(bench.m))},
		{"network", start(plain.AllowNetwork())},
		{"classic", start(Classic(bench.m))},
	}
	took := make([][]time.Duration, len(ways))
	for b.Loop() {
		for i, way := range ways {
			began := time.Now()
			way.do()
			took[i] = append(took[i], time.Since(began))
		}
	}
	for i, way := range ways {
		slices.Sort(took[i])
		b.ReportMetric(float64(took[i][len(took[i])/2].Microseconds())/1000, way.name+"-p50-ms")
		b.ReportMetric(float64(took[i][0].Microseconds())/1000, way.name+"-least-ms")
	}
	b.ReportMetric(0, "ns/op")
}

func run(b *testing.B, argv ...string) {
	b.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
}

// Changing files through the supervisor, beside the same outside the sandbox.
func BenchmarkFiles(b *testing.B) {
	bench := benchFor(b)
	g := bench.mkdir(bench.m.Workspace + "/g")
	script := filepath.Join(bench.m.Temp, "files.sh")
	// The shell makes, renames and removes a thousand files by itself: no program is started.
	text := "cd $1; i=0; while [ $i -lt 1000 ]; do echo x > f$i; echo y >> f$i; i=$((i+1)); done; rm -f f*\n"
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			run(b, "/bin/sh", script, g.Path)
		}
	})
	b.Run("guarded", func(b *testing.B) {
		p := Guarded(bench.m).AllowWrite(g)
		for b.Loop() {
			proc, err := Start(p, Command{Argv: []string{"/bin/sh", script, g.Path}, Dir: bench.m.Workspace, Env: []string{"PATH=/usr/bin:/bin"}})
			if err != nil {
				b.Fatal(err)
			}
			if exit, err := proc.Wait(); err != nil || exit.Code != 0 {
				b.Fatal(exit, err)
			}
		}
	})
}
