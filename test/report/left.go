package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// many tests that were left out for the same reason are listed together.
const many = 12

// printLeft lists what was left out, and why.
func (s *tally) printLeft(out io.Writer) {
	if len(s.left) == 0 {
		return
	}
	fmt.Fprintln(out, "\nLeft out on this machine:")
	alike := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(s.left)) {
		alike[s.left[key]] = append(alike[s.left[key]], key)
	}
	for _, key := range slices.Sorted(maps.Keys(s.left)) {
		if why := s.left[key]; len(alike[why]) < many {
			fmt.Fprintf(out, "  %s: %s\n", key, why)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(alike)) {
		if len(alike[why]) >= many {
			fmt.Fprintf(out, "  %d tests: %s\n", len(alike[why]), why)
			printTogether(out, alike[why])
		}
	}
}

// printTogether prints a line for each package: its tests, and how many parts of a test are meant.
func printTogether(out io.Writer, keys []string) {
	tests, parts := map[string][]string{}, map[string]int{}
	for _, key := range keys {
		name, test, _ := strings.Cut(key, " ")
		test, _, isPart := strings.Cut(test, "/")
		if !slices.Contains(tests[name], test) {
			tests[name] = append(tests[name], test)
		}
		if isPart {
			parts[name+" "+test]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		for i, test := range tests[name] {
			if n := parts[name+" "+test]; n > 0 {
				tests[name][i] = fmt.Sprintf("%s (%d parts)", test, n)
			}
		}
		fmt.Fprintf(out, "    %s: %s\n", name, strings.Join(tests[name], ", "))
	}
}
