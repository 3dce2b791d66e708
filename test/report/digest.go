package main

import (
	"fmt"
	"regexp"
	"strings"
)

// module begins the names of our own functions in a stack.
const module = "github.com/heddle-network/heddle"

// headLines are kept of what was printed before a list of goroutines.
const headLines = 200

var goroutine = regexp.MustCompile(`(?m)^\s*goroutine \d+ .*\[[^]]*\]:$`)

// digest shortens the output of what ended with a list of its goroutines: it
// keeps those that are in our code, for they say who waits for what.
func digest(text string) string {
	at := goroutine.FindAllStringIndex(text, -1)
	if len(at) < 2 { // a panic has one: its own
		return text
	}
	lines := strings.SplitAfter(text[:at[0][0]], "\n")
	var b strings.Builder
	if more := len(lines) - headLines; more > 0 {
		fmt.Fprintf(&b, "(%d lines before)\n", more)
		lines = lines[more:]
	}
	b.WriteString(strings.Join(lines, ""))
	others := 0
	for i, from := range at {
		to := len(text)
		if i+1 < len(at) {
			to = at[i+1][0]
		}
		// The last one is followed by what was printed after the list.
		if stack := text[from[0]:to]; i+1 == len(at) || strings.Contains(stack, module) {
			b.WriteString(stack)
		} else {
			others++
		}
	}
	fmt.Fprintf(&b, "(%d goroutines that are not in our code left out)\n", others)
	return b.String()
}
