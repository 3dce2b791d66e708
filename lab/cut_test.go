package lab_test

import (
	"bytes"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle/impair"
	"github.com/heddle-network/heddle/lab"
)

// reaches waits until a host reaches an address, or no longer does.
func reaches(t *testing.T, l *lab.Lab, from, to string, want bool) {
	t.Helper()
	eventually(t, from+" to "+to+": "+strconv.FormatBool(want), func() bool {
		_, err := try(t, l, from, "ping", "-n", "-c1", "-W"+map[bool]string{true: "2", false: "0.4"}[want], to)
		return (err == nil) == want
	})
}

func TestCuts(t *testing.T) {
	l := up(t, lab.Options{Name: "cuts", Hosts: 3, NoAgent: true})
	ctx := t.Context()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(l.Cut(ctx, "host1", "host2", false))
	reaches(t, l, "host1", "172.31.240.12", false)
	reaches(t, l, "host2", "fd99:172:31:240::11", false)
	reaches(t, l, "host1", "172.31.240.13", true)
	reaches(t, l, "host2", "fd99:172:31:240::13", true)
	do(l.Heal(ctx, "host2", "host1"))
	reaches(t, l, "host1", "172.31.240.12", true)

	// One way: host2 gets nothing of host1, but host1 gets all of host2.
	do(l.Cut(ctx, "host1", "host2", true))
	if got := datagramsOneWay(t, l); got != [2]int{0, 10} {
		t.Errorf("one way: %d from host1, %d from host2", got[0], got[1])
	}
	// A relay in the wire changes nothing about it.
	setImpairment(t, l, "host1", lab.Both, impair.Impairment{Delay: time.Millisecond})
	if got := datagramsOneWay(t, l); got != [2]int{0, 10} {
		t.Errorf("one way, with a relay: %d from host1, %d from host2", got[0], got[1])
	}
	do(l.Cut(ctx, "host3", "", false))
	reaches(t, l, "host3", "172.31.240.12", false)
	reaches(t, l, "host3", "172.31.240.1", false)
	reaches(t, l, "host2", "fd99:172:31:240::1", true)
	if f := l.Faults(); len(f.Cuts) != 3 || len(f.Wires) != 1 {
		t.Errorf("%+v", f)
	}
	do(l.ClearFaults(ctx))
	for _, from := range []string{"host1", "host3"} {
		reaches(t, l, from, "172.31.240.12", true)
		reaches(t, l, from, "fd99:172:31:240::12", true)
	}
	for _, pair := range [][2]string{{"host9", ""}, {"host1", "host1"}, {"host1", "host9"}, {"", ""}, {lab.SwitchName, ""}} {
		if l.Cut(ctx, pair[0], pair[1], false) == nil {
			t.Errorf("%v were cut", pair)
		}
	}
}

// datagramsOneWay sends from host1 to host2 and back, with neighbours known: a
// way that is cut cannot resolve them.
func datagramsOneWay(t *testing.T, l *lab.Lab) [2]int {
	t.Helper()
	in(t, l, "host1", "ip", "neigh", "replace", "172.31.240.12", "lladdr", "02:68:6c:00:00:0c", "dev", "eth0", "nud", "permanent")
	in(t, l, "host2", "ip", "neigh", "replace", "172.31.240.11", "lladdr", "02:68:6c:00:00:0b", "dev", "eth0", "nud", "permanent")
	return [2]int{datagrams(t, l, "host1", "host2", 10), datagrams(t, l, "host2", "host1", 10)}
}

func TestWireChanges(t *testing.T) {
	l := up(t, lab.Options{Name: "change", Hosts: 2, NoAgent: true, Rate: 200_000_000})
	ctx := t.Context()
	ping := func(size int, wait string) bool {
		_, err := try(t, l, "host1", "ping", "-n", "-c1", "-W"+wait, "-M", "do", "-s", strconv.Itoa(size-28), "172.31.240.12")
		return err == nil
	}
	mtu := func() string { return in(t, l, "host2", "cat", "/proc/sys/net/ipv6/conf/eth0/mtu") }
	for _, relay := range []bool{false, true} {
		if relay {
			setImpairment(t, l, "host2", lab.Both, impair.Impairment{Delay: time.Millisecond})
		}
		for _, step := range []struct {
			mtu    int
			hidden bool
			host   string
			passes int
		}{{1400, false, "1400", 1400}, {1300, true, "1500", 1300}, {0, false, "1500", 1500}} {
			if err := l.SetMTU(ctx, "host2", step.mtu, step.hidden); err != nil {
				t.Fatal(err)
			}
			// a bridge port takes four bytes more, for a VLAN tag
			if !ping(step.passes, "20") || step.passes < 1500 && ping(step.passes+50, "0.5") || mtu() != step.host {
				t.Errorf("relay %v: MTU %+v is not so: host has %s", relay, step, mtu())
			}
		}
	}
	setImpairment(t, l, "host2", lab.Both, impair.Impairment{})
	if err := l.SetRate(ctx, "host2", 8_000_000); err != nil {
		t.Fatal(err)
	}
	carries8(t, l, false)
	for rate, want := range map[impair.Rate]string{impair.Unlimited: "", 0: "200Mbit"} {
		if err := l.SetRate(ctx, lab.SwitchName, rate); err != nil {
			t.Fatal(err)
		}
		for _, at := range [][2]string{{"host1", "eth0"}, {lab.SwitchName, "host2"}} {
			qdisc := in(t, l, at[0], "tc", "qdisc", "show", "dev", at[1], "root")
			if strings.Contains(qdisc, "tbf") != (want != "") || !strings.Contains(qdisc, want) {
				t.Errorf("%v: %v: %s", rate, at, qdisc)
			}
		}
	}
	for _, bad := range []error{l.SetMTU(ctx, "host2", 1000, false), l.SetRate(ctx, "host2", 1), l.SetMTU(ctx, "host2:eth1", 1400, false),
		l.Impair(ctx, "host2", lab.Both, impair.Impairment{Loss: 1.5}), l.Impair(ctx, "host2", "up", impair.Impairment{}),
		l.Impair(ctx, "host2", lab.Both, impair.Impairment{Jitter: 1})} {
		if bad == nil {
			t.Error("nonsense was accepted")
		}
	}
}

func TestAgentFaults(t *testing.T) {
	l := up(t, lab.Options{Name: "still", Hosts: 2, AgentCommand: testAgent(t)})
	ctx, h := t.Context(), l.Hosts[0]
	in(t, l, "host1", "sh", "-c", "(while :; do date +%N >/run/tick; sleep 0.02; done) >/dev/null 2>&1 & exit 0")
	ticks := func() bool {
		a := in(t, l, "host2", "true") + tick(t, h)
		time.Sleep(100 * time.Millisecond)
		return a != tick(t, h)
	}
	for _, all := range []bool{false, true} {
		if err := l.Pause(ctx, "host1", all); err != nil {
			t.Fatal(err)
		}
		if answersSoon(h) {
			t.Error("the paused agent answers")
		}
		eventually(t, "the others stand still as wanted", func() bool { return ticks() != all })
		if err := l.Continue(ctx, "host1"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it goes on", func() bool { return ask(t, h) == "host1" && ticks() })
	}
	// A paused agent can be killed, and its clock is its own.
	if err := l.Pause(ctx, "host1", false); err != nil {
		t.Fatal(err)
	}
	if err := h.KillAgent(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("unix", h.Socket); err == nil {
		t.Error("the killed agent answers")
	}
	if err := h.StartAgent(ctx); err != nil {
		t.Fatal(err)
	}
	for _, ahead := range []time.Duration{-time.Hour, 0} {
		if err := l.SetClock(ctx, "host1", ahead); err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{true: "", false: ahead.String()}[ahead == 0]
		log, _ := os.ReadFile(h.Log)
		if last := string(log[bytes.LastIndex(log, []byte("clock")):]); last != "clock "+want+"\n" {
			t.Errorf("the agent says %q, and %q was wanted", last, want)
		}
	}
}

// TestPauseFails: if not all processes of a host can be stopped, all continue.
func TestPauseFails(t *testing.T) {
	l := up(t, lab.Options{Name: "moving", Hosts: 1, NoAgent: true})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in(t, l, "host1", "sh", "-c", `sleep 1000 >/dev/null 2>&1 & "$0" test-unstoppable >/dev/null 2>&1 & exit 0`, self)
	states := func(what string) string {
		out, _ := try(t, l, "host1", "sh", "-c", `for p in $(pgrep -f "$0"); do cut -d' ' -f3 /proc/$p/task/*/stat; done`, what)
		return out
	}
	eventually(t, "a process waits for its child", func() bool { return strings.Contains(states("[t]est-unstoppable"), "D") })
	if err := l.Pause(t.Context(), "host1", true); err == nil {
		t.Error("it stands still")
	}
	eventually(t, "the other process goes on", func() bool { return states("^[s]leep 1000") == "S" })
	if left := l.Faults().Paused; len(left) > 0 {
		t.Errorf("the record says %v", left)
	}
}

func tick(t *testing.T, h *lab.Host) string {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(h.Pid) + "/root/run/tick")
	return string(b)
}

func answersSoon(h *lab.Host) bool {
	c, err := net.Dial("unix", h.Socket)
	if err != nil {
		return false
	}
	defer c.Close()
	c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	n, _ := c.Read(make([]byte, 10))
	return n > 0
}

// A relay that dies cuts its host off, and Crashed shows it. Setting the fault again or clearing it
// repairs the wire. Down leaves nothing of either.
func TestRelayCrash(t *testing.T) {
	l := up(t, lab.Options{Name: "crash", Hosts: 2, NoAgent: true})
	for _, mend := range []func() error{
		func() error {
			return l.Impair(t.Context(), "host1", lab.In, impair.Impairment{Delay: time.Millisecond})
		},
		func() error { return l.ClearFaults(t.Context()) },
	} {
		setImpairment(t, l, "host1", lab.In, impair.Impairment{Delay: time.Millisecond})
		reaches(t, l, "host2", "172.31.240.11", true)
		if got := l.Crashed(); len(got) != 0 {
			t.Errorf("crashed: %v", got)
		}
		killRelay(t, l)
		reaches(t, l, "host2", "172.31.240.11", false)
		eventually(t, "the crash shows", func() bool { return len(l.Crashed()) == 1 })
		if !l.Alive() {
			t.Error("the lab counts as broken")
		}
		if err := mend(); err != nil {
			t.Fatal(err)
		}
		reaches(t, l, "host2", "172.31.240.11", true)
	}
	setImpairment(t, l, "host1", lab.In, impair.Impairment{Delay: time.Millisecond})
	killRelay(t, l)
}

func killRelay(t *testing.T, l *lab.Lab) {
	t.Helper()
	killed := 0
	for _, p := range relays() {
		if syscall.Kill(p, syscall.SIGKILL) == nil {
			killed++
		}
	}
	if killed != 1 {
		t.Fatalf("%d relays ran", killed)
	}
}

func relays() (all []int) {
	entries, _ := os.ReadDir("/proc")
	own, _ := os.Readlink("/proc/self/exe")
	for _, e := range entries {
		args, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		exe, _ := os.Readlink("/proc/" + e.Name() + "/exe")
		if pid, err := strconv.Atoi(e.Name()); err == nil && exe == own && bytes.Contains(args, []byte("\x00lab-relay\x00")) {
			all = append(all, pid)
		}
	}
	return all
}
