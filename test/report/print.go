package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// mostSlow is how many of the slowest tests are listed, of those that took this many
// seconds at least.
const (
	mostSlow = 20
	slow     = 30
)

func (s *tally) print(out io.Writer, took time.Duration) {
	for _, key := range slices.Sorted(maps.Keys(s.kept)) {
		end := ""
		if s.never[key] {
			end = " (never ended)"
		}
		fmt.Fprintf(out, "\n── %s%s\nagain: %s\n", key, end, again(key))
		for _, text := range s.kept[key] { // one by one: each may end with a list of goroutines
			if fmt.Fprint(out, digest(text)); text != "" && !strings.HasSuffix(text, "\n") {
				fmt.Fprintln(out)
			}
		}
	}
	s.printRepeats(out)
	s.printSlowest(out)
	s.printLeft(out)
	fmt.Fprintf(out, "\n%.0f s\n%d passed, %d failed, %d skipped\n", took.Seconds(), s.passed, max(s.failed, len(s.broken)), s.skipped)
}

// printRepeats says how often those tests failed that ran several times.
func (s *tally) printRepeats(out io.Writer) {
	repeated := 0
	var flaky []string
	for _, key := range slices.Sorted(maps.Keys(s.runs)) {
		r := s.runs[key]
		if r.number > 1 {
			repeated++
		}
		if r.number > 1 && r.failed > 0 {
			flaky = append(flaky, fmt.Sprintf("  %s: failed %d of %d times\n", key, r.failed, r.number))
		}
	}
	if repeated > 0 {
		fmt.Fprintf(out, "\n%d tests ran several times, %d of them failed:\n%s", repeated, len(flaky), strings.Join(flaky, ""))
	}
}

// printSlowest lists the slowest tests, without the parts of tests.
func (s *tally) printSlowest(out io.Writer) {
	var all []string
	for key, r := range s.runs {
		if r.seconds >= slow && !strings.Contains(strings.SplitN(key, " ", 2)[1], "/") {
			all = append(all, key)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.runs[b].seconds, s.runs[a].seconds), strings.Compare(a, b))
	})
	if len(all) > 0 {
		fmt.Fprintln(out, "\nSlowest:")
	}
	for _, key := range all[:min(mostSlow, len(all))] {
		fmt.Fprintf(out, "  %7.1f s  %s\n", s.runs[key].seconds, key)
	}
}
