package world

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle/lazyregexp"
)

// stream is a ping that runs during a test.
type stream struct {
	name string
	cmd  *exec.Cmd
	out  bytes.Buffer
}

// tail is how many packets may be under way when a stream is stopped, on a busy machine. After
// end is called, the streams run for twice as many packets, so that none of the packets sent
// before is among them.
const tail = 50

// Stream pings addresses again and again. It waits for a first answer of each. The function that
// it returns ends the pings, and fails the test if a packet sent before is missing.
func (n Netns) Stream(t testing.TB, every time.Duration, to ...netip.Addr) (end func()) {
	t.Helper()
	var all []*stream
	for _, a := range to {
		n.Sh(t, "ping -n -c1 -w60 %s", a)
		s := &stream{name: fmt.Sprintf("%s pings %s", n.Name, a)}
		s.cmd = exec.Command("ping", "-n", fmt.Sprintf("-i%.3f", every.Seconds()), a.String())
		s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
		s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := n.Do(s.cmd.Start); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.cmd.Process.Kill() })
		all = append(all, s)
	}
	return func() {
		t.Helper()
		time.Sleep(2 * tail * every)
		for _, s := range all {
			s.cmd.Process.Signal(os.Interrupt)
			s.cmd.Wait()
			s.judge(t)
		}
	}
}

var (
	sequence    = lazyregexp.New(`bytes from .*icmp_seq=(\d+)`)
	transmitted = lazyregexp.New(`(\d+) packets transmitted`)
)

// judge fails the test if a packet is missing.
func (s *stream) judge(t testing.TB) {
	t.Helper()
	next := 1
	for _, m := range sequence.FindAllStringSubmatch(s.out.String(), -1) {
		n, _ := strconv.Atoi(m[1])
		if n != next {
			t.Errorf("%s: packets %d to %d are lost", s.name, next, n-1)
		}
		next = n + 1
	}
	if m := transmitted.FindStringSubmatch(s.out.String()); m == nil || next == 1 {
		t.Errorf("%s: no answers:\n%s", s.name, s.out.String()[:min(s.out.Len(), 2000)])
	} else if sent, _ := strconv.Atoi(m[1]); sent > next+tail {
		t.Errorf("%s: %d packets sent, the last answer is %d", s.name, sent, next-1)
	}
}
