package hardship_test

import (
	"bytes"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// stream is a ping that goes on through a hardship.
type stream struct {
	cmd *exec.Cmd
	out bytes.Buffer
}

// startPing pings the endpoint's addresses of both families from a pod, fifty
// times a second.
func startPing(t testing.TB, pod string, to heddle.Endpoint) (end func()) {
	t.Helper()
	var streams []*stream
	for _, a := range to.Addrs {
		// the stream is about what happens later: it begins once there is an answer
		cell.Sh(t, "ip netns exec %s ping -n -c 1 -w 5 %s", pod, a.Addr())
		s := &stream{}
		s.cmd = exec.Command("ip", "netns", "exec", pod, "ping", "-n", "-i", "0.02", a.Addr().String())
		s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
		s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		must(t, s.cmd.Start())
		streams = append(streams, s)
	}
	t.Cleanup(func() {
		for _, s := range streams {
			s.cmd.Process.Kill()
		}
	})
	time.Sleep(100 * time.Millisecond)
	return func() {
		t.Helper()
		for _, s := range streams {
			s.end(t)
		}
	}
}

var (
	sequence    = regexp.MustCompile(`icmp_seq=(\d+)`)
	transmitted = regexp.MustCompile(`(\d+) packets transmitted`)
)

// tail is how many packets may be on their way when a stream is stopped, on a
// busy machine; the stream goes on for twice as many before, so that none sent
// until end was called is among them.
const tail = 10

// end stops the ping and fails the test if a packet sent until now is missing.
func (s *stream) end(t testing.TB) {
	t.Helper()
	time.Sleep(2 * tail * 20 * time.Millisecond)
	s.cmd.Process.Signal(syscall.SIGINT)
	s.cmd.Wait()
	next := 1
	for _, m := range sequence.FindAllStringSubmatch(s.out.String(), -1) {
		n, _ := strconv.Atoi(m[1])
		if n != next {
			t.Errorf("%v: packets %d to %d are lost", s.cmd.Args[4:], next, n-1)
		}
		next = n + 1
	}
	if m := transmitted.FindStringSubmatch(s.out.String()); m == nil || next == 1 {
		t.Errorf("%v: no answers:\n%s", s.cmd.Args[4:], clip(s.out.String()))
	} else if sent, _ := strconv.Atoi(m[1]); sent > next+tail {
		t.Errorf("%v: %d packets sent, the last answer is %d", s.cmd.Args[4:], sent, next-1)
	}
}

func clip(s string) string { return s[:min(len(s), 2000)] }

// kernelState dumps what the kernel holds for us and for others: links,
// addresses, routes, rules, neighbours, firewall; here and in the pods.
func kernelState(t testing.TB) string {
	t.Helper()
	const dump = `ip -o link; ip -o addr; ip route show table all; ip -6 route show table all; ip rule; ip neigh show nud permanent; nft -s list ruleset`
	return cell.Sh(t, dump+`
		for n in $(ip netns list | cut -d' ' -f1); do echo "== $n"; ip netns exec $n sh -c '`+dump+`'; done`)
}

// unchanged fails the test if the kernel is no more as it was; what settles by
// itself (the state of a link, duplicate address detection) gets its time.
func unchanged(t testing.TB, before string) {
	t.Helper()
	now := ""
	for range 20 {
		if now = kernelState(t); now == before {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("the kernel has changed:\n%s", difference(before, now))
}

// settled is the kernel's state once it has come to rest.
func settled(t testing.TB) string {
	t.Helper()
	last := kernelState(t)
	for range 40 {
		time.Sleep(200 * time.Millisecond)
		now := kernelState(t)
		if now == last && !strings.Contains(now, "tentative") {
			return now
		}
		last = now
	}
	return last
}

func difference(before, after string) string {
	lines := func(s string) map[string]bool {
		all := map[string]bool{}
		for l := range strings.Lines(s) {
			all[l] = true
		}
		return all
	}
	old, now, out := lines(before), lines(after), ""
	for l := range old {
		if !now[l] {
			out += "- " + l
		}
	}
	for l := range now {
		if !old[l] {
			out += "+ " + l
		}
	}
	return clip(out)
}
