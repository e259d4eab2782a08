// Testreport reads the output of go test -json and says what failed, what was skipped without leave, and how many tests
// ran in each package. It fails when a test was skipped that the list doesn't name, or when no test ran.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

func main() {
	skips := flag.String("skips", "", "file that lists tests which may be skipped: package, test, reason")
	flag.Parse()
	allowed := map[string]bool{}
	if data, err := os.ReadFile(*skips); err == nil {
		for line := range strings.Lines(string(data)) {
			if f := strings.Fields(line); len(f) > 2 && !strings.HasPrefix(f[0], "#") {
				allowed[f[0]+" "+f[1]] = true
			}
		}
	}
	output := map[string][]string{}
	running, crashed := map[string]bool{}, map[string]bool{}
	passed := map[string]int{}
	var failed, skipped, rows []string
	total, start := 0, time.Now()
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var e event
		if json.Unmarshal(in.Bytes(), &e) != nil {
			fmt.Println(in.Text()) // the compiler's own words
			continue
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "run":
			running[key] = true
		case "pass", "skip", "fail":
			delete(running, key)
		}
		switch e.Action {
		case "output":
			output[key] = append(output[key], e.Output)
			if strings.HasPrefix(e.Output, "panic: ") || strings.HasPrefix(e.Output, "fatal error: ") {
				crashed[key] = true
			}
			// Lines that say how many cases were run are part of the report.
			if strings.Contains(e.Output, "cases:") {
				rows = append(rows, strings.TrimSpace(e.Output))
			}
		case "build-output":
			fmt.Print(e.Output)
		case "pass":
			if e.Test != "" {
				passed[e.Package]++
				total++
			}
		case "skip":
			if e.Test != "" && !allowed[key] {
				skipped = append(skipped, key)
			}
		case "fail":
			failed = append(failed, key)
		}
	}
	// A test that a time limit or a crash cut off has no end. The stacks stand with whichever test printed last, and that
	// may even count as passed.
	for key := range running {
		crashed[key] = true
	}
	for _, key := range failed {
		delete(crashed, key)
	}
	failed = append(failed, slices.Sorted(maps.Keys(crashed))...)
	for _, key := range failed {
		fmt.Printf("FAIL %s\n%s", key, strings.Join(output[key], ""))
	}
	for _, key := range skipped {
		fmt.Printf("SKIPPED without leave: %s\n%s", key, strings.Join(output[key], ""))
	}
	packages := make([]string, 0, len(passed))
	for p := range passed {
		packages = append(packages, p)
	}
	slices.Sort(packages)
	for _, p := range packages {
		fmt.Printf("%5d passed  %s\n", passed[p], p)
	}
	for _, r := range rows {
		fmt.Println(r)
	}
	fmt.Printf("%d tests passed, %d failed, %d skipped without leave (report read in %v)\n", total, len(failed), len(skipped), time.Since(start).Round(time.Millisecond))
	if len(failed)+len(skipped) > 0 || total == 0 {
		os.Exit(1)
	}
}
