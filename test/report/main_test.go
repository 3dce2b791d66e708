package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const sample = `package a

import (
	"fmt"
	"os"
	"testing"
	"time"
)

func TestFine(t *testing.T)    { t.Log("fine words") }
func TestSkipped(t *testing.T) { t.Skip("no such machine") }
func TestWrong(t *testing.T)   { t.Error("wrong words") }
func TestHangs(t *testing.T) {
	go func() { time.Sleep(time.Hour) }()
	t.Run("here", func(t *testing.T) { fmt.Println("words before"); wait() })
}
func wait() { time.Sleep(time.Hour) }
func TestMain(m *testing.M) { os.Exit(m.Run()) }
`

// TestReport has go test run what passes, is skipped, fails and hangs.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module "+module+"\n")
	write(t, filepath.Join(dir, "a", "a_test.go"), sample)
	cmd := exec.Command("go", "test", "-json", "-timeout", "3s", "./a")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	events, err := cmd.Output()
	if err == nil {
		t.Fatalf("go test passes:\n%s", events)
	}
	text, s := report(t, events)
	for _, want := range []string{"FAIL  a ", "wrong words", "a TestHangs/here (never ended)", "words before", "test timed out", "a.wait", "1 passed, 3 failed, 1 skipped", "a TestSkipped: no such machine",
		"FAIL  a TestWrong: a_test.go:12: wrong words\n", "again: CGO_ENABLED=0 go test -trimpath -vet=off -timeout 75m -count=1 -v ./a -run '^TestHangs$/^here$'"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	for _, bad := range []string{"fine words", "startAlarm"} {
		if strings.Contains(text, bad) {
			t.Errorf("the report has %q", bad)
		}
	}
	if !s.bad() || t.Failed() {
		t.Errorf("bad: %v\n%s", s.bad(), text)
	}
}

// TestCutShort has go test end in the middle.
func TestCutShort(t *testing.T) {
	text, s := report(t, []byte(`{"Action":"start","Package":"`+module+`/b"}
{"Action":"start","Package":"`+module+`/a"}
{"Action":"run","Package":"`+module+`/a","Test":"TestA"}
{"Action":"pass","Package":"`+module+`/a","Test":"TestA"}
{"Action":"pass","Package":"`+module+`/a"}
`))
	if !s.bad() || !strings.Contains(text, "b never ended") {
		t.Errorf("bad: %v\n%s", s.bad(), text)
	}
	if text, s := report(t, nil); !s.bad() {
		t.Errorf("no tests at all are good:\n%s", text)
	}
}

// TestRepeats: what fails now and then is told with how often; a word of its failure is
// kept, though it passed later.
func TestRepeats(t *testing.T) {
	var events strings.Builder
	for i, verdict := range []string{"pass", "fail", "pass"} {
		for _, e := range []string{"run", "output", verdict} {
			output := ""
			if e == "output" && i == 1 {
				output = `,"Output":"--- FAIL: TestA\n"`
			}
			events.WriteString(`{"Action":"` + e + `","Package":"` + module + `/a","Test":"TestA","Elapsed":40` + output + "}\n")
		}
	}
	text, _ := report(t, []byte(events.String()))
	for _, want := range []string{"a TestA: failed 1 of 3 times", "--- FAIL: TestA", "40.0 s  a TestA"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
}

func report(t *testing.T, runs ...[]byte) (string, *tally) {
	t.Helper()
	var out bytes.Buffer
	var inputs []io.Reader
	for _, events := range runs {
		inputs = append(inputs, bytes.NewReader(events))
	}
	s, err := readAll(inputs, &lockedWriter{to: &out})
	if err != nil {
		t.Fatal(err)
	}
	s.print(&out, 0)
	return out.String(), s
}

// TestBeside: one package may have two runs at the same time, of other tests each; a run
// without any test is a failure.
func TestBeside(t *testing.T) {
	run := func(test, verdict string) []byte {
		in := `","Package":"` + module + `/a"`
		return []byte(`{"Action":"start` + in + "}\n" + `{"Action":"run` + in + `,"Test":"` + test + `"}` + "\n" +
			`{"Action":"` + verdict + in + `,"Test":"` + test + `"}` + "\n" + `{"Action":"` + verdict + in + "}\n")
	}
	if text, s := report(t, run("TestA", "pass"), run("TestB", "pass")); s.bad() || !strings.Contains(text, "2 passed, 0 failed") {
		t.Errorf("two runs that passed:\n%s", text)
	}
	if text, s := report(t, run("TestA", "pass"), run("TestB", "fail")); !s.bad() || !strings.Contains(text, "1 passed, 1 failed") {
		t.Errorf("one of two failed:\n%s", text)
	}
	if text, s := report(t, run("TestA", "pass"), nil); !s.bad() || !strings.Contains(text, "no test has run") {
		t.Errorf("one of two had no test:\n%s", text)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
