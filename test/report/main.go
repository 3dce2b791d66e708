// Command report reads the events of "go test -json" and prints what a person
// wants to know: a line for each package, and for each test that failed what it said;
// the output of what failed or never ended, with the command that runs it again; how
// often a test failed that ran several times; the slowest tests; what was left out and
// why; and one closing line with the sums. It exits with 1 if anything failed or nothing
// passed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

// event is one line of go test -json (see "go doc test2json").
type event struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
	Elapsed                                                float64
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
