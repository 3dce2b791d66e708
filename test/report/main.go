// Command report reads the events of "go test -json" and prints what a person
// wants to know: a line for each package, and for each test that failed what it said;
// the output of what failed or never ended, with the command that runs it again; how
// often a test failed that ran several times; the slowest tests; what was left out and
// why; when the machine stood still; and one closing line with the sums. It exits with 1 if anything failed or nothing
// passed. The events come from standard input, or
// from the files that are its arguments, of runs that go on at the same time.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// event is one line of go test -json (see "go doc test2json").
type event struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
	Elapsed                                                float64
}

func main() {
	start := time.Now()
	var still standstill
	still.watch(context.Background())
	inputs, err := openAll(os.Args[1:])
	if err != nil {
		fmt.Println("report:", err)
		os.Exit(1)
	}
	sum, err := readAll(inputs, &lockedWriter{to: os.Stdout})
	if err != nil {
		fmt.Println("report:", err)
		os.Exit(1)
	}
	still.print(os.Stdout)
	sum.print(os.Stdout, time.Since(start))
	if sum.bad() {
		os.Exit(1)
	}
}

// openAll opens the files; no names mean standard input.
func openAll(names []string) ([]io.Reader, error) {
	if len(names) == 0 {
		return []io.Reader{os.Stdin}, nil
	}
	var all []io.Reader
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// readAll reads all inputs at the same time. One without any test makes the sum bad.
func readAll(inputs []io.Reader, out io.Writer) (*tally, error) {
	parts, errs := make([]*tally, len(inputs)), make([]error, len(inputs))
	var over sync.WaitGroup
	for i, in := range inputs {
		parts[i] = newTally()
		over.Go(func() { errs[i] = parts[i].read(in, out) })
	}
	over.Wait()
	sum := newTally()
	for i, part := range parts {
		if part.passed+part.failed+part.skipped+len(part.broken) == 0 {
			fmt.Fprintf(out, "FAIL  input %d: no test has run\n", i+1)
			part.failed++
		}
		sum.add(part)
	}
	return sum, errors.Join(errs...)
}

// lockedWriter lets several goroutines write, one line after the other.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *lockedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(b)
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
