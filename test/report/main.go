// Command report reads the events of "go test -json" and prints what a person
// wants to know: a line for each package, the output of what failed or never
// ended, what was left out and why, and one closing line with the sums. It exits
// with 1 if anything failed or nothing passed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"time"
)

// event is one line of go test -json (see "go doc test2json").
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

type tally struct {
	passed, failed, skipped int
	output                  map[string][]string // by package/test
	left                    map[string]string   // skipped test -> reason
	open                    map[string]bool     // begun, and not ended
	broken                  []string
}

func main() {
	sum := newTally()
	start := time.Now()
	if err := sum.read(os.Stdin, os.Stdout); err != nil {
		fmt.Println("report:", err)
		os.Exit(1)
	}
	sum.print(os.Stdout, time.Since(start))
	if sum.bad() {
		os.Exit(1)
	}
}

func (s *tally) bad() bool { return s.failed > 0 || len(s.broken) > 0 || s.passed == 0 }

func newTally() *tally {
	return &tally{output: map[string][]string{}, left: map[string]string{}, open: map[string]bool{}}
}

func (s *tally) read(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<20), 1<<26)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(out, lines.Text())
			continue
		}
		s.take(e, out)
	}
	s.settle()
	return lines.Err()
}

func (s *tally) take(e event, out io.Writer) {
	name := short(e.Package + e.ImportPath)
	key := name + " " + e.Test
	switch e.Action {
	case "start", "run":
		s.open[key] = true
	case "output", "build-output":
		s.output[key] = append(s.output[key], e.Output)
	case "build-fail":
		s.broken = append(s.broken, key)
	case "pass", "fail", "skip":
		delete(s.open, key)
		if e.Test == "" {
			s.finishPackage(e, name, key, out)
			return
		}
		if e.Action == "fail" { // at once: the rest may take long
			fmt.Fprintf(out, "FAIL  %s\n", key)
		}
		s.finishTest(e, key)
	}
}

// settle takes what never ended for failed: tests whose package ended under them,
// by its time limit above all, and packages that go test left.
func (s *tally) settle() {
	for key := range s.open {
		if name, isPackage := strings.CutSuffix(key, " "); isPackage {
			s.broken = append(s.broken, key)
			s.output[key] = append(s.output[key], name+" never ended\n")
		} else {
			s.failed++
		}
	}
}

func (s *tally) finishTest(e event, key string) {
	switch e.Action {
	case "pass":
		s.passed++
		delete(s.output, key)
	case "fail":
		s.failed++
	case "skip":
		s.skipped++
		s.left[key] = reason(s.output[key])
		delete(s.output, key)
	}
}

func (s *tally) finishPackage(e event, name, key string, out io.Writer) {
	switch e.Action {
	case "fail":
		s.broken = append(s.broken, key)
		fmt.Fprintf(out, "FAIL  %-28s %7.1f s\n", name, e.Elapsed)
	case "skip": // no tests in it
		delete(s.output, key)
	case "pass":
		delete(s.output, key)
		fmt.Fprintf(out, "ok    %-28s %7.1f s\n", name, e.Elapsed)
	}
}

// reason is the last line that a skipped test printed before its verdict.
func reason(output []string) string {
	text := ""
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "===") || strings.HasPrefix(line, "---") {
			continue
		}
		_, after, found := strings.Cut(line, ".go:")
		if _, message, ok := strings.Cut(after, ": "); found && ok {
			line = message
		}
		text = line
	}
	return text
}

func short(path string) string {
	path = strings.TrimPrefix(path, "github.com/heddle-network/heddle")
	if path == "" {
		return "(root)"
	}
	return strings.TrimPrefix(path, "/")
}

func (s *tally) print(out io.Writer, took time.Duration) {
	for _, key := range sorted(s.output) {
		text := strings.Join(s.output[key], "")
		switch {
		case s.open[key] && !strings.HasSuffix(key, " "):
			fmt.Fprintf(out, "\n── %s (never ended)\n%s", key, digest(text))
		case strings.Contains(text, "--- FAIL") || strings.HasSuffix(key, " "):
			fmt.Fprintf(out, "\n── %s\n%s", key, digest(text))
		}
	}
	if len(s.left) > 0 {
		fmt.Fprintln(out, "\nLeft out on this machine:")
		for _, key := range sorted(s.left) {
			fmt.Fprintf(out, "  %s: %s\n", key, s.left[key])
		}
	}
	fmt.Fprintf(out, "\n%.0f s\n%d passed, %d failed, %d skipped\n", took.Seconds(), s.passed, max(s.failed, len(s.broken)), s.skipped)
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
