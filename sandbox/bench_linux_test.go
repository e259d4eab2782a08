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

// `true` through the whole sandbox, with the launcher as it is shipped, beside its floor: the same mounts by bubblewrap alone,
// and bubblewrap with the fewest. "over-floor" is what a start costs beyond the latter; "times" is how long a start takes with a
// thousand folders granted, or names denied (half of them exist), against one folder and the usual names.
func BenchmarkTrue(b *testing.B) {
	bench := benchFor(b)
	bench.m.Executable = filepath.Join(filepath.Dir(bench.m.Home), "launcher")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bench.m.Executable, "handrail/sandbox/launch")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
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
			secret := fmt.Sprintf("%s/secret%d", m.Home, i)
			if m.Secrets = append(m.Secrets, secret); i%2 == 0 {
				if err := os.WriteFile(secret, nil, 0o600); err != nil {
					b.Fatal(err)
				}
			}
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
	p50 := map[string]float64{} // in milliseconds
	for i, way := range ways {
		slices.Sort(took[i])
		p50[way.name] = float64(took[i][len(took[i])/2].Microseconds()) / 1000
		b.ReportMetric(p50[way.name], way.name+"-p50-ms")
		b.ReportMetric(float64(took[i][0].Microseconds())/1000, way.name+"-least-ms")
	}
	b.ReportMetric(p50["guarded"]-p50["floor"], "over-floor-ms")
	b.ReportMetric(p50["1000-grants"]/p50["guarded"], "1000-grants-times")
	b.ReportMetric(p50["1000-secrets"]/p50["guarded"], "1000-secrets-times")
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
