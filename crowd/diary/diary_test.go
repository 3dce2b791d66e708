package diary

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestRecord: what is written at once, by many, can be read; a program that was killed leaves all but its last line.
func TestRecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "diary")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	r := &Recorder{To: f}
	r.Write(Line{Run: &Run{Crowd: "some", Scenario: "crowd: some\n"}})
	r.Begin(Round{Number: 1, Mode: "bridge"})
	var all sync.WaitGroup
	for user := range 20 {
		all.Go(func() {
			end := r.Open(Flow{Where: Where{User: user}, Protocol: "tcp", From: netip.MustParseAddrPort("10.0.0.1:1"), To: netip.MustParseAddrPort("[fd00::1]:2")})
			r.Step(Step{Where: Where{User: user}, Outcome: "achieved"})
			end()
			end() // which is nothing more
		})
	}
	all.Wait()
	f.WriteString(`{"step":{"user":9`)
	f.Close()
	count, flows := map[string]int{}, map[int64]int{}
	for l, err := range Read(file) {
		switch {
		case err != nil:
			t.Fatal(err)
		case l.Run != nil:
			count["run"]++
		case l.Round != nil:
			count["round"]++
		case l.Flow != nil:
			count["flow"]++
			flows[l.Flow.ID]++
		case l.End != nil:
			flows[l.End.Flow] += 10
		case l.Step != nil:
			count["step"]++
		}
	}
	if r.Err() != nil || count["run"] != 1 || count["round"] != 1 || count["flow"] != 20 || count["step"] != 20 || len(flows) != 20 {
		t.Errorf("%v: %v", r.Err(), count)
	}
	for id, n := range flows {
		if n != 11 {
			t.Errorf("flow %d: %d", id, n)
		}
	}
}

// TestNone: without a diary nothing is recorded.
func TestNone(t *testing.T) {
	for _, r := range []*Recorder{nil, {}} {
		r.Begin(Round{})
		r.Step(Step{})
		r.Open(Flow{})()
		if r.Err() != nil {
			t.Error(r.Err())
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestFails: a diary that could not be written says so, and what is none is refused.
func TestFails(t *testing.T) {
	r := &Recorder{To: full{}}
	r.Step(Step{})
	r.Open(Flow{})()
	if r.Err() == nil || !strings.Contains(r.Err().Error(), "no space left") {
		t.Error(r.Err())
	}
	dir := t.TempDir()
	for text, want := range map[string]string{"": "no line", "{}\n": "does not begin", "{\n": "line 1", "{\"run\":{}}\n[]\n": "line 2", "{\"run\":{}}": "no line", strings.Repeat("x", longest+1): "too long", "none": ""} {
		file := filepath.Join(dir, "diary")
		if text == "none" {
			file, want = filepath.Join(dir, "none"), "no such file"
		} else if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var last error
		for _, err := range Read(file) {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), want) {
			t.Errorf("%q: %v", text, last)
		}
	}
}
