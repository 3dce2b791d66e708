package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/test/poll"
)

// crowdRun is a run that is going on.
type crowdRun struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	said           chan string
}

// runCrowd starts a run.
func runCrowd(t *testing.T, file string, args ...string) *crowdRun {
	t.Helper()
	r := &crowdRun{said: make(chan string, 100)}
	r.cmd = exec.Command("heddle", append([]string{"crowd", "run", file}, args...)...)
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, r
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// Write takes what the run says.
func (r *crowdRun) Write(b []byte) (int, error) {
	r.stderr.Write(b)
	r.said <- string(b)
	return len(b), nil
}

// awaits waits until the run says something.
func (r *crowdRun) awaits(t *testing.T, words string) {
	t.Helper()
	late := time.After(3 * time.Minute)
	for {
		select {
		case said := <-r.said:
			if strings.Contains(said, words) {
				return
			}
		case <-late:
			t.Fatalf("the run does not say %q", words)
		}
	}
}

// ends waits for the end of a run. A machine that is busy makes figures invalid; the run is the same.
func (r *crowdRun) ends(t *testing.T) {
	t.Helper()
	if err := r.cmd.Wait(); err != nil && !strings.Contains(r.stderr.String(), "the crowd itself was late") {
		t.Fatalf("%v: %s", err, r.stderr.String())
	}
}

// nothingLeft: no lab, and no process of one or of a service, is on this machine, which is the test's own.
func nothingLeft(t *testing.T) {
	t.Helper()
	_, err := poll.Until(time.Minute, 50*time.Millisecond, func() error {
		all, err := exec.Command("ps", "-eo", "stat,args").Output()
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(all)) {
			ours := strings.Contains(strings.ReplaceAll(line, "heddle.test", ""), "heddle")
			for _, of := range []string{"nginx: ", "redis-server ", "/etc/sshd.conf", "dovecot", "unbound.conf", "caddy "} {
				ours = ours || strings.Contains(line, of)
			}
			if ours && !strings.HasPrefix(line, "Z") {
				return fmt.Errorf("the process %s", line)
			}
		}
		if _, err := os.Stat("/run/heddle-lab"); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("the folder of labs: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Errorf("left is: %v", err)
	}
}

// awaitNobody waits until the agent has no endpoints and finds nothing amiss.
func awaitNobody(t *testing.T) {
	t.Helper()
	poll.For(t, 5*time.Minute, 200*time.Millisecond, "the agent removed the crowd", func() bool {
		return heddleDoes(t, "endpoint", "list", "-q") == ""
	})
	heddleDoes(t, "audit")
}

// heddleDoes runs a command that succeeds, and returns what it prints.
func heddleDoes(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("heddle", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("heddle %s: %v: %s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

// sameDocument reports whether two documents say the same, but for their kind.
func sameDocument(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y report.Report
	if err := errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)); err != nil {
		t.Errorf("%v", err)
		return false
	}
	one, err1 := json.Marshal(x)
	other, err2 := json.Marshal(y)
	return err1 == nil && err2 == nil && bytes.Equal(one, other)
}
