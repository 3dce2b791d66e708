package lab_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/poll"
)

func TestHosts(t *testing.T) {
	l := up(t, lab.Options{Name: "hosts", Hosts: 3, NoAgent: true,
		Sysctls: map[string]string{"net.ipv4.tcp_congestion_control": "reno"}})
	for _, far := range []string{"host2", "172.31.240.13", "fd99:172:31:240::12", "fd99:172:31:240::13", "172.31.240.1", "fd99:172:31:240::1"} {
		in(t, l, "host1", "ping", "-c1", "-W20", far)
	}
	for what, want := range map[string][2]string{
		"hostname":        {"hostname", "host1"},
		"process 1":       {"cat /proc/1/comm", "exe"},
		"default route":   {"ip route show default", "default via 172.31.240.1 dev eth0"},
		"IPv6 default":    {"ip -6 route show default", "default via fd99:172:31:240::1 dev eth0 metric 1024 pref medium"},
		"sysctl":          {"cat /proc/sys/net/ipv4/tcp_congestion_control", "reno"},
		"forwarding":      {"cat /proc/sys/net/ipv4/ip_forward", "0"},
		"cgroup root":     {"grep -v :/$ /proc/self/cgroup | grep -v :/init$ | wc -l", "0"},
		"folder":          {"mkdir /var/lib/heddle/x && ls /var/lib/heddle", "x"},
		"private /run":    {"ls -A /run | tr '\\n' ' '", ".lab lock"},
		"network of /sys": {"test -e /sys/fs/cgroup && echo yes", "yes"},
	} {
		if out := in(t, l, "host1", "sh", "-c", want[0]); out != want[1] {
			t.Errorf("%s: %q, want %q", what, out, want[1])
		}
	}
	if out := in(t, l, "host2", "ls", "/var/lib/heddle"); out != "" {
		t.Errorf("host2 sees host1's folder: %q", out)
	}
	in(t, l, "host1", "ip", "netns", "add", "own")
	if out := in(t, l, "host2", "ip", "netns", "list"); out != "" {
		t.Errorf("host2 sees host1's namespaces: %q", out)
	}
	if out := in(t, l, lab.SwitchName, "ls", "/sys/class/net/../../class/net"); out == "" {
		t.Error("the switch cannot be entered")
	}
}

func TestCommand(t *testing.T) {
	l := up(t, lab.Options{Name: "run", Hosts: 1, NoAgent: true})
	var exit *exec.ExitError
	for script, code := range map[string]int{"exit 7": 7, "kill -9 $$": -1} {
		if _, err := try(t, l, "host1", "sh", "-c", script); !errors.As(err, &exit) || exit.ExitCode() != code {
			t.Errorf("%s: %v, want %d", script, err, code)
		}
	}
	if _, err := try(t, l, "host1", "no-such-command"); !errors.As(err, &exit) || exit.ExitCode() != 127 {
		t.Errorf("unknown command: %v", err)
	}
	h, _ := l.Host("host1")
	cmd, err := h.Command(t.Context(), "cat")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = strings.NewReader("through")
	cmd.Dir = t.TempDir()
	if out, err := cmd.Output(); err != nil || string(out) != "through" {
		t.Errorf("cat: %q, %v", out, err)
	}
	pwd, _ := h.Command(t.Context(), "pwd")
	pwd.Dir = cmd.Dir
	if out, _ := pwd.Output(); strings.TrimSpace(string(out)) != cmd.Dir {
		t.Errorf("folder is %q, want %s", out, cmd.Dir)
	}
	if _, err := h.Command(t.Context()); heddle.KindOf(err) != heddle.Usage {
		t.Errorf("no command: %v", err)
	}
}

// A command ends with its context, a daemon it left behind does not.
func TestCommandCancelled(t *testing.T) {
	l := up(t, lab.Options{Name: "cancel", Hosts: 1, NoAgent: true})
	h, _ := l.Host("host1")
	ctx, cancel := context.WithCancel(t.Context())
	cmd, err := h.Command(ctx, "sh", "-c", "setsid sleep 1001 & exec sleep 1002")
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "both run", func() bool { return runs(t, l, "1001") && runs(t, l, "1002") })
	cancel()
	cmd.Wait()
	eventually(t, "the command ends", func() bool { return !runs(t, l, "1002") })
	if !runs(t, l, "1001") {
		t.Error("the daemon was killed")
	}
	in(t, l, "host1", "sh", "-c", "kill -TERM 1; kill -INT 1")
	if !h.Alive() {
		t.Error("the init was killed from inside")
	}
	eventually(t, "orphans are reaped", func() bool {
		return in(t, l, "host1", "sh", "-c", "cat /proc/[0-9]*/stat | grep -c ') Z ' || true") == "0"
	})
}

func runs(t *testing.T, l *lab.Lab, arg string) bool {
	out := in(t, l, "host1", "sh", "-c", `for p in /proc/[0-9]*; do tr '\0' ' ' <$p/cmdline 2>/dev/null; echo; done`)
	return strings.Contains(out, "sleep "+arg+" \n") || strings.HasSuffix(out, "sleep "+arg+" ")
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	poll.For(t, time.Minute, 20*time.Millisecond, what, ok)
}

func TestWires(t *testing.T) {
	l := up(t, lab.Options{Name: "wires", Hosts: 3, NoAgent: true, MTU: 9000, Rate: 200_000_000,
		HostMTU: map[string]int{"host2": 1400}, HostRate: map[string]uint64{"host2": 8_000_000, "host3": 0}})
	for host, want := range map[string][2]string{"host1": {"9000", "200Mbit"}, "host2": {"1400", "8Mbit"}, "host3": {"9000", ""}} {
		for _, at := range [][2]string{{host, "eth0"}, {lab.SwitchName, host}} {
			if mtu := in(t, l, at[0], "cat", "/proc/sys/net/ipv6/conf/"+at[1]+"/mtu"); mtu != want[0] {
				t.Errorf("MTU of %s %s is %s", at[0], at[1], mtu)
			}
			qdisc := in(t, l, at[0], "tc", "qdisc", "show", "dev", at[1], "root")
			if want[1] == "" && strings.Contains(qdisc, "tbf") || !strings.Contains(qdisc, want[1]) {
				t.Errorf("%s %s: %s", at[0], at[1], qdisc)
			}
		}
	}
	in(t, l, "host1", "ping", "-4", "-c1", "-W20", "-M", "do", "-s", "8972", "host3")
	if _, err := try(t, l, "host1", "ping", "-c1", "-W1", "-M", "do", "-s", "1400", "172.31.240.12"); err == nil {
		t.Error("a packet larger than host2's MTU arrived")
	}
	for _, reverse := range []bool{false, true} {
		carries8(t, l, reverse)
	}
}

// TestSmallWires: below 1280 bytes wires have IPv4 alone.
func TestSmallWires(t *testing.T) {
	l := up(t, lab.Options{Name: "small", Hosts: 2, NoAgent: true, MTU: 1000})
	in(t, l, "host1", "ping", "-c1", "-W20", "-M", "do", "-s", "972", "host2")
	if _, err := try(t, l, "host1", "ping", "-c1", "-W1", "-M", "do", "-s", "973", "host2"); err == nil {
		t.Error("a packet larger than the MTU arrived")
	}
	for _, h := range l.Hosts {
		if !h.Addr4.IsValid() || h.Addr6.IsValid() {
			t.Errorf("%s has %v and %v", h.Name, h.Addr4, h.Addr6)
		}
	}
}

// carries8 measures a wire of 8 Mbit/s.
func carries8(t *testing.T, l *lab.Lab, reverse bool) {
	t.Helper()
	var rate float64
	if !thrice(func() bool { rate = throughput(t, l, "host1", "host2", reverse); return rate >= 4e6 && rate <= 10e6 }) {
		t.Errorf("8 Mbit/s wire (reverse %v) carried %.1f Mbit/s", reverse, rate/1e6)
	}
}

// TestCutWire counts frames: with Cut they have at most the MTU; without it they are fewer and larger.
func TestCutWire(t *testing.T) {
	for name, merge := range map[string]bool{"whole": false, "cut": false, "merged": true} {
		t.Run(name, func(t *testing.T) {
			cut := name != "whole"
			l := up(t, lab.Options{Name: "cut", Hosts: 2, NoAgent: true, Cut: cut, Merge: merge})
			received := func() (bytes, packets float64) {
				for line := range strings.Lines(in(t, l, "host2", "cat", "/proc/net/dev")) {
					_, _ = fmt.Sscanf(strings.TrimSpace(line), "eth0: %f %f", &bytes, &packets)
				}
				return bytes, packets
			}
			if on, err := l.Hosts[0].Offloads(); err != nil || on["tso"] == cut || on["gso"] == cut || on["gro"] != merge {
				t.Errorf("offloads %v, %v", on, err)
			}
			bytes0, packets0 := received()
			throughput(t, l, "host1", "host2", false)
			bytes, packets := received()
			if mean := (bytes - bytes0) / (packets - packets0); packets == packets0 || cut != (mean <= 1514) {
				t.Errorf("frames of %.0f bytes on average", mean)
			}
		})
	}
}

func TestSpareNICs(t *testing.T) {
	l := up(t, lab.Options{Name: "nics", Hosts: 2, NoAgent: true, NICs: 2, Rate: 1_000_000_000})
	// A spare NIC is on the same switch: with an address, it reaches the other host.
	in(t, l, "host1", "ip", "netns", "add", "c")
	in(t, l, "host1", "ip", "link", "set", lab.NICName(2), "netns", "c")
	in(t, l, "host1", "ip", "-n", "c", "addr", "add", "172.31.240.99/24", "dev", "eth2")
	in(t, l, "host1", "ip", "-n", "c", "link", "set", "eth2", "up")
	in(t, l, "host1", "ip", "netns", "exec", "c", "ping", "-c1", "-W20", "172.31.240.12")
	if qdisc := in(t, l, lab.SwitchName, "tc", "qdisc", "show", "dev", "host1-eth2", "root"); !strings.Contains(qdisc, "1Gbit") {
		t.Error(qdisc)
	}
}

// throughput measures TCP for two seconds, in bits a second.
func throughput(t *testing.T, l *lab.Lab, client, server string, reverse bool) float64 {
	if _, err := exec.LookPath("iperf3"); err != nil {
		t.Skip("iperf3 is not installed")
	}
	in(t, l, server, "iperf3", "-s", "-1", "-D")
	argv := []string{"iperf3", "-c", server, "-4", "-t", "2", "-O", "1", "-J"}
	if reverse {
		argv = append(argv, "-R")
	}
	var out string
	eventually(t, "iperf3 answers", func() (ok bool) {
		var err error
		out, err = try(t, l, client, argv...)
		return err == nil
	})
	var doc struct {
		End struct {
			Received struct {
				Rate float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err, out)
	}
	return doc.End.Received.Rate
}

func TestPort(t *testing.T) {
	l := up(t, lab.Options{Name: "port", Hosts: 2, NoAgent: true})
	for _, on := range []bool{false, true} {
		if err := l.SetPort("host2", on); err != nil {
			t.Fatal(err)
		}
		for _, far := range []string{"172.31.240.12", "fd99:172:31:240::12"} {
			eventually(t, "port follows", func() bool {
				_, err := try(t, l, "host1", "ping", "-c1", "-W1", far)
				return (err == nil) == on
			})
		}
	}
	for _, name := range []string{"host3", lab.SwitchName} {
		if l.SetPort(name, false) == nil {
			t.Errorf("port %s was cut", name)
		}
	}
}

func TestAgents(t *testing.T) {
	l := up(t, lab.Options{Name: "agents", Hosts: 2, AgentCommand: testAgent(t)})
	for _, h := range l.Hosts {
		if got := ask(t, h); got != h.Name {
			t.Errorf("the agent of %s says %q", h.Name, got)
		}
		if got := in(t, l, h.Name, "cat", "/var/lib/heddle/name"); got != h.Name {
			t.Errorf("the state of %s is %q's", h.Name, got)
		}
	}
	h := l.Hosts[0]
	in(t, l, h.Name, "pkill", "-9", "-f", "[t]est-agent")
	eventually(t, "agent gone", func() bool { _, err := net.Dial("unix", h.Socket); return err != nil })
	for range 2 {
		if err := h.StartAgent(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := ask(t, h); got != h.Name {
		t.Errorf("the agent started again says %q", got)
	}
	log, _ := os.ReadFile(h.Log)
	if n := bytes.Count(log, []byte("agent host1 starts")); n != 2 {
		t.Errorf("started %d times:\n%s", n, log)
	}
}

// Each host's agent has arguments of its own, which may be known late.
func TestAgentArguments(t *testing.T) {
	l := up(t, lab.Options{Name: "args", Hosts: 2, AgentCommand: testAgent(t), AgentsLater: true,
		AgentArgs: []string{"--say", " of all"}, HostAgentArgs: map[string][]string{"host2": {"--say", " alone"}}})
	for i, h := range l.Hosts {
		if _, err := net.Dial("unix", h.Socket); err == nil {
			t.Error("an agent was started")
		}
		if err := h.StartAgent(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := ask(t, h), h.Name+[]string{" of all", " alone"}[i]; got != want {
			t.Errorf("it says %q, not %q", got, want)
		}
	}
	h := l.Hosts[1]
	if err := h.StartAgent(t.Context(), "--say", " more"); err == nil {
		t.Error("a running agent took other arguments")
	}
	in(t, l, h.Name, "pkill", "-9", "-f", "[t]est-agent")
	eventually(t, "agent gone", func() bool { _, err := net.Dial("unix", h.Socket); return err != nil })
	for _, args := range [][]string{{"--say", " more"}, nil} {
		if err := h.StartAgent(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	if got := ask(t, h); got != "host2 more" {
		t.Errorf("it says %q", got)
	}
}

func ask(t *testing.T, h *lab.Host) string {
	t.Helper()
	c, err := net.Dial("unix", h.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b, _ := io.ReadAll(c)
	return string(b)
}

// If an agent does not start, Up fails at once with the agent's message, and nothing stays.
func TestAgentFails(t *testing.T) {
	needRoot(t)
	before, dir := survey(t), t.TempDir()
	_, err := lab.Up(t.Context(), lab.Options{Dir: dir, AgentCommand: testAgent(t), AgentArgs: []string{"--fail"}})
	if err == nil || !strings.Contains(err.Error(), "status 4") || !strings.Contains(err.Error(), "cannot weave") {
		t.Errorf("error: %v", err)
	}
	noTrace(t, before, dir)
	_, err = lab.Up(t.Context(), lab.Options{Dir: dir, Hosts: 2, NoAgent: true, Sysctls: map[string]string{"net.no.such": "1"}})
	if err == nil || !strings.Contains(err.Error(), "net.no.such") {
		t.Errorf("error: %v", err)
	}
	noTrace(t, before, dir)
}

func TestBadOptions(t *testing.T) {
	for name, o := range map[string]lab.Options{
		"name":       {Name: "../x"},
		"long name":  {Name: strings.Repeat("x", 33)},
		"hosts":      {Hosts: -1},
		"many hosts": {Hosts: 245},
		"mtu":        {MTU: 575},
		"host mtu":   {HostMTU: map[string]int{"host1": 65536}},
		"mtu nobody": {HostMTU: map[string]int{"host3": 1500}},
		"rate":       {Rate: 100},
		"arguments":  {HostAgentArgs: map[string][]string{"host3": nil}},
		"spare NICs": {NICs: 100},
		"host rate":  {HostRate: map[string]uint64{"host1": 1}},
		"sysctl":     {Sysctls: map[string]string{"kernel.hostname": "x"}},
		"sysctl way": {Sysctls: map[string]string{"net/../kernel/hostname": "x"}},
		"agent":      {AgentCommand: []string{"/no/such/agent"}},
	} {
		o.NoAgent = o.AgentCommand == nil
		o.Dir = filepath.Join(t.TempDir(), "labs")
		if _, err := lab.Up(t.Context(), o); heddle.KindOf(err) != heddle.Usage {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(o.Dir); err == nil {
			t.Errorf("%s: something was made", name)
		}
	}
	if _, err := lab.Load(t.TempDir(), "none"); !errors.Is(err, heddle.NoLab.Sentinel()) {
		t.Errorf("no lab: %v", err)
	}
}
