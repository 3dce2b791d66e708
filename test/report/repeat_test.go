package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// stream writes events: each is an action, a test's name or "", and what is said.
func stream(t *testing.T, all ...[3]string) []byte {
	t.Helper()
	var b []byte
	for _, one := range all {
		line, err := json.Marshal(event{Action: one[0], Package: module + "/a", Test: one[1], Output: one[2]})
		if err != nil {
			t.Fatal(err)
		}
		b = append(append(b, line...), '\n')
	}
	return b
}

// run is one go test of one test that says a word.
func run(verdict, words, ofPackage string) [][3]string {
	all := [][3]string{{"start"}, {"run", "TestA"}, {"output", "TestA", words + "\n"}}
	if verdict != "" {
		all = append(all, [3]string{verdict, "TestA"})
	}
	return append(all, [3]string{ofPackage})
}

// check compares a report's text with what it must have, and must not.
func check(t *testing.T, text string, want, bad []string) {
	t.Helper()
	for _, w := range want {
		if strings.Count(text, w) != 1 {
			t.Errorf("the report has %q %d times", w, strings.Count(text, w))
		}
	}
	for _, b := range bad {
		if strings.Contains(text, b) {
			t.Errorf("the report has %q", b)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestHungOnce: a test that hung has no verdict; a later run that passes does not hide it.
func TestHungOnce(t *testing.T) {
	hung, fine := run("", "hung here", "fail"), run("pass", "fine words", "pass")
	text, s := report(t, stream(t, append(append(append([][3]string{}, fine...), hung...), fine...)...))
	check(t, text, []string{"a TestA (never ended)\n", "hung here", "a TestA: failed 1 of 3 times", "2 passed, 1 failed, 0 skipped"},
		[]string{"fine words"})
	if !s.bad() {
		t.Error("what hung is good")
	}
	// It hung each time: each counts, and each list of goroutines is cut by itself.
	list := "goroutine 1 [running]:\nx\ngoroutine 2 [select]:\n" + module + ".wait%[1]d\n"
	var all [][3]string
	for i := range 2 {
		all = append(all, run("", fmt.Sprintf("before%[1]d\n"+list+"after%[1]d", i), "fail")...)
	}
	text, _ = report(t, stream(t, all...))
	check(t, text, []string{"failed 2 of 2 times", "before0", "before1", "wait0", "wait1", "after0", "after1"}, nil)
}

// TestLeftOnce: go test itself ended before its package did, and was started again.
func TestLeftOnce(t *testing.T) {
	fine := run("pass", "fine words", "pass")
	text, s := report(t, stream(t, append(append([][3]string{}, run("", "killed here", "pause")...), fine...)...))
	check(t, text, []string{"a never ended", "killed here", "a TestA: failed 1 of 2 times"}, []string{"fine words"})
	if !s.bad() {
		t.Error("what was left is good")
	}
}

// TestPackageWords: a panic in TestMain is kept, though the package passed later.
func TestPackageWords(t *testing.T) {
	all := [][3]string{{"start"}, {"output", "", "panic: in main\n"}, {"fail"}}
	fine := [][3]string{{"start"}, {"output", "", "PASS\n"}, {"pass"}}
	text, _ := report(t, stream(t, append(append(all, run("pass", "fine words", "pass")...), fine...)...))
	check(t, text, []string{"panic: in main"}, []string{"fine words", "PASS\n"})
}

// TestWordsOfFailures: only the runs that failed are heard, each of them, whatever followed.
func TestWordsOfFailures(t *testing.T) {
	var all [][3]string
	for i, verdict := range []string{"fail", "pass", "skip", "fail", "pass", "skip"} {
		all = append(all, run(verdict, fmt.Sprintf("%s words %d", verdict, i), "pass")...)
	}
	text, _ := report(t, stream(t, all...))
	check(t, text, []string{"fail words 0", "fail words 3", "a TestA: skip words 5", "failed 2 of 6 times"},
		[]string{"pass words", "skip words 2"})
}

// TestSlowest: the slowest come first, those alike by their names.
func TestSlowest(t *testing.T) {
	s := newTally()
	for i := range mostSlow {
		s.runs[fmt.Sprintf("a Test%02d", i)] = &runs{number: 1, seconds: 40 - float64(i/2)/4}
	}
	var out strings.Builder
	s.printSlowest(&out)
	at := 0
	for i := range mostSlow {
		next := strings.Index(out.String(), fmt.Sprintf("Test%02d", i))
		if next < at {
			t.Fatalf("Test%02d is not in its place:\n%s", i, out.String())
		}
		at = next
	}
}
