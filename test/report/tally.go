package main

import (
	"fmt"
	"io"
	"maps"
	"strings"
)

// tally is what is known of the tests so far. A key is a package's name and, after a
// blank, a test's: "test/modes TestFirstPacket/bridge". The same test may run several
// times, and go test too, one after the other.
type tally struct {
	passed, failed, skipped int
	output                  map[string][]string // of the run that goes on
	kept                    map[string][]string // of the runs that failed, a text each
	left                    map[string]string   // skipped test -> reason
	open                    map[string]bool     // begun, and not ended
	never                   map[string]bool     // a run of this test never ended
	broken                  []string
	runs                    map[string]*runs
}

// runs are those of one test.
type runs struct {
	number, failed int
	seconds        float64 // of the slowest
}

func newTally() *tally {
	return &tally{output: map[string][]string{}, kept: map[string][]string{}, left: map[string]string{},
		open: map[string]bool{}, never: map[string]bool{}, runs: map[string]*runs{}}
}

// add adds another tally, of a run beside this one.
func (s *tally) add(o *tally) {
	s.passed, s.failed, s.skipped = s.passed+o.passed, s.failed+o.failed, s.skipped+o.skipped
	s.broken = append(s.broken, o.broken...)
	for key, texts := range o.kept {
		s.kept[key] = append(s.kept[key], texts...)
	}
	maps.Copy(s.left, o.left)
	maps.Copy(s.never, o.never)
	for key, r := range o.runs {
		if s.runs[key] == nil {
			s.runs[key] = &runs{}
		}
		sum := s.runs[key]
		sum.number, sum.failed, sum.seconds = sum.number+r.number, sum.failed+r.failed, max(sum.seconds, r.seconds)
	}
}

func (s *tally) bad() bool { return s.failed > 0 || len(s.broken) > 0 || s.passed == 0 }

func (s *tally) take(e event, out io.Writer) {
	name := short(e.Package + e.ImportPath)
	key := name + " " + e.Test
	switch e.Action {
	case "start": // what the compiler said came before, and stays
		if s.open[key] {
			s.lose(name)
		}
		s.open[key] = true
	case "run":
		delete(s.output, key)
		s.open[key] = true
	case "output", "build-output":
		s.output[key] = append(s.output[key], e.Output)
	case "build-fail":
		s.broken = append(s.broken, key)
		s.keep(key)
	case "pass", "fail", "skip":
		delete(s.open, key)
		if e.Test == "" {
			s.finishPackage(e, name, key, out)
			return
		}
		if e.Action == "fail" { // at once: the rest may take long
			fmt.Fprintf(out, "FAIL  %s%s\n", key, said(s.output[key]))
		}
		s.finishTest(e, key)
	}
}

// keep puts aside what a run said that failed: no later run adds to it or deletes it.
func (s *tally) keep(key string) {
	s.kept[key] = append(s.kept[key], strings.Join(s.output[key], ""))
	delete(s.output, key)
}

func (s *tally) finishTest(e event, key string) {
	r := s.count(key)
	r.seconds = max(r.seconds, e.Elapsed)
	switch e.Action {
	case "pass":
		s.passed++
	case "fail":
		s.failed++
		r.failed++
		s.keep(key)
	case "skip":
		s.skipped++
		s.left[key] = reason(s.output[key])
	}
	delete(s.output, key)
}

// count begins the account of a test, and adds one run.
func (s *tally) count(key string) *runs {
	if s.runs[key] == nil {
		s.runs[key] = &runs{}
	}
	s.runs[key].number++
	return s.runs[key]
}

func (s *tally) finishPackage(e event, name, key string, out io.Writer) {
	s.abandon(name)
	switch e.Action {
	case "fail":
		if e.FailedBuild == "" || short(e.FailedBuild) != name { // else it is counted
			s.broken = append(s.broken, key)
		}
		s.keep(key)
		fmt.Fprintf(out, "FAIL  %-28s %7.1f s\n", name, e.Elapsed)
	case "pass":
		fmt.Fprintf(out, "ok    %-28s %7.1f s\n", name, e.Elapsed)
	}
	delete(s.output, key)
}

// abandon takes those tests of a package for failed that never ended, though the package
// did: by its time limit above all. Go test says nothing of them.
func (s *tally) abandon(name string) {
	for key := range s.open {
		if of, test, _ := strings.Cut(key, " "); of != name || test == "" {
			continue
		}
		delete(s.open, key)
		s.failed++
		s.count(key).failed++
		s.never[key] = true
		s.keep(key)
	}
}

// lose takes a package for failed that go test left before it ended.
func (s *tally) lose(name string) {
	key := name + " "
	delete(s.open, key)
	s.broken = append(s.broken, key)
	s.output[key] = append(s.output[key], name+" never ended\n")
	s.keep(key)
	s.abandon(name)
}

// settle takes what never ended for failed, when there are no more events. What was said of
// a package that has no verdict, such as a compiler's warning, is kept.
func (s *tally) settle() {
	for key := range s.open {
		if name, isPackage := strings.CutSuffix(key, " "); isPackage {
			s.lose(name)
		}
	}
	for key := range s.open {
		name, _, _ := strings.Cut(key, " ")
		s.abandon(name)
	}
	for key := range s.output {
		if strings.HasSuffix(key, " ") {
			s.keep(key)
		}
	}
}
