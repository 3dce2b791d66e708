package bench

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/poll"
)

// wired makes these wires, and runs a small matrix over them with the real tools:
//
//	hc ---- veth ---- hs       "host": a bare wire
//	bc --- veth --- br0 (in bb) --- veth --- bs      "bridge"
func wired(t *testing.T) []Column {
	t.Helper()
	prefix := fmt.Sprintf("hdlbench%d", os.Getpid())
	names := map[string]string{}
	for _, n := range []string{"hc", "hs", "bc", "bs", "bb"} {
		names[n] = prefix + n
		ip(t, "netns", "add", names[n])
		t.Cleanup(func() { ip(t, "netns", "del", names[n]) })
	}
	ip(t, "link", "add", "eth0", "netns", names["hc"], "type", "veth", "peer", "name", "eth0", "netns", names["hs"])
	ip(t, "-n", names["bb"], "link", "add", "br0", "type", "bridge")
	ip(t, "-n", names["bb"], "link", "set", "br0", "up")
	for _, n := range []string{"bc", "bs"} {
		ip(t, "link", "add", "eth0", "netns", names[n], "type", "veth", "peer", "name", n, "netns", names["bb"])
		ip(t, "-n", names["bb"], "link", "set", n, "master", "br0", "up")
	}
	at := map[string]Endpoint{}
	for i, n := range []string{"hc", "hs", "bc", "bs"} {
		at[n] = inside(names[n], fmt.Sprintf("10.77.0.%d", i+1))
		ip(t, "-n", names[n], "addr", "add", at[n].Addr.String()+"/24", "dev", "eth0")
		ip(t, "-n", names[n], "link", "set", "eth0", "up")
	}
	host, bridge := Pair{Client: at["hc"], Server: at["hs"], PortBase: 20000}, Pair{Client: at["bc"], Server: at["bs"], PortBase: 20000}
	second := func(p Pair) []Pair { return []Pair{p, {Client: p.Client, Server: p.Server, PortBase: 20100}} }
	return []Column{
		{Mode: "host", Span: SameHost, Pairs: second(host), Notes: map[string]string{"mtu": "1500"}},
		{Mode: "bridge", Span: SameHost, Pairs: second(bridge)},
	}
}

func ip(t *testing.T, argv ...string) {
	t.Helper()
	if out, err := exec.Command("ip", argv...).CombinedOutput(); err != nil {
		t.Fatalf("ip %v: %v: %s", argv, err, out)
	}
}

func inside(netns, addr string) Endpoint {
	return Endpoint{Name: netns, Addr: netip.MustParseAddr(addr), Command: func(ctx context.Context, argv ...string) (*exec.Cmd, error) {
		return exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", netns}, argv...)...), nil
	}}
}

func needTools(t *testing.T, probes ...Probe) {
	if os.Getuid() != 0 {
		t.Skip("needs root for network namespaces")
	}
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if err := CheckTools(probes); err != nil {
		t.Skip(err)
	}
}

func TestLiveMatrix(t *testing.T) {
	needTools(t, quickProbes()...)
	columns := wired(t)
	m := Matrix{Columns: columns, Probes: []Probe{Throughput{}, UnderLoad{Percent: 50}, PingPong{}}, Rounds: 1, Duration: 400 * time.Millisecond, Seed: 3}
	out := t.TempDir()
	r := whole(t, m, out, implausible)
	if again, err := ReadReport(filepath.Join(out, "report.json")); err != nil || len(again.Samples) != 8 {
		t.Error(err)
	}
	var text bytes.Buffer
	if err := r.Text(&text); err != nil {
		t.Error(err)
	}
	t.Log(text.String())
	if c := r.Method.Capacities; len(c) != 1 || c[0].PerSecond < 100 {
		t.Errorf("capacities: %+v", c)
	}
	nothingLeft(t, columns)
}

// whole runs a matrix, and repeats failed or implausible cells: on a busy machine a program may not
// run during all of its half second.
func whole(t *testing.T, m Matrix, out string, wrong func(Sample) string) *Report {
	t.Helper()
	failed := false
	for range 4 {
		start := time.Now()
		var progress bytes.Buffer
		r, err := Run(context.Background(), m, Options{Out: out, Resume: failed, Progress: &progress})
		t.Logf("%s (estimated %s)\n%s", time.Since(start), Estimate(m), progress.String())
		if failed = err != nil; failed {
			t.Log(err)
			continue
		}
		var all []string
		for _, s := range r.Samples {
			if why := wrong(s); why != "" {
				all = append(all, why)
			}
		}
		if len(all) == 0 {
			return r
		}
		t.Log(strings.Join(all, "\n"))
	}
	t.Fatal("cells were wrong again and again")
	return nil
}

// TestLiveTools runs the other tools over a bare wire, as far as they are here.
func TestLiveTools(t *testing.T) {
	probes, leftOut := Present([]Probe{Iperf3{}, Ping{}, Lossless{Trials: 5}, Flood{}, Netperf{Test: "UDP_RR"}, Qperf{"tcp_lat"}, Wrk{}, Redis{"get"}})
	t.Log("left out:", leftOut)
	needTools(t, probes...)
	columns := wired(t)[:1]
	m := Matrix{Columns: columns, Probes: probes, Values: []int{1 << 10}, Rounds: 1, Duration: 300 * time.Millisecond}
	whole(t, m, t.TempDir(), implausible)
	nothingLeft(t, columns)
}

func TestLivePairsAndFailure(t *testing.T) {
	needTools(t, quickProbes()...)
	columns := wired(t)
	// Nobody has this address: the cells fail and say so, the others go on.
	columns[1].Pairs[0].Server.Addr = netip.MustParseAddr("10.77.0.99")
	m := Matrix{Columns: columns, Probes: []Probe{Throughput{}, Ping{}}, PairCounts: []int{2}, Rounds: 1, Duration: 300 * time.Millisecond, Placement: SameCore}
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	again := func(s Sample) bool { return s.Mode == "host" && implausible(s) != "" }
	var r *Report
	for try := 0; try == 0 || try < 4 && slices.ContainsFunc(r.Samples, again); try++ { // as in whole
		var err error
		r, err = Run(ctx, m, Options{Out: t.TempDir()})
		t.Log(err)
		if r == nil {
			t.Fatal(err)
		}
	}
	for _, s := range r.Samples {
		if s.Mode == "host" {
			if why := implausible(s); why != "" {
				t.Error(why)
			}
		} else if s.Error == "" {
			t.Errorf("%s did not fail: %v", s.Cell, s.Figures)
		} else {
			t.Log(s.Error)
		}
	}
	nothingLeft(t, columns)
}

// implausible says what is wrong with a sample; nothing may be.
func implausible(s Sample) string {
	f, bad := s.Figures, false
	switch s.Probe {
	case "sockperf-throughput":
		bad = f["received"] < 1000 || f["received"] > 1.001*f["sent"] || f["lost"] > 95
	case "iperf3":
		bad = f["received"] < 0.1 || f["received"] > 1000 || f["window"] <= 0
	case "ping":
		bad = f["rtt-min"] <= 0 || f["rtt-min"] > f["rtt-avg"] || f["rtt-avg"] > f["rtt-max"]
	case "udp-lossless":
		bad = f["rate"] < 100 || f["lost"] > 100*lossTolerance || f["cost"] <= 0
	case "ping-flood", "wrk", "redis-get", "netperf-udp-rr":
		bad = f["rate"] < 100 || f["rate"] > 1e7 || f["cost"] <= 0 || f["p50"] > f["p99"] || f["mean"] > 1e6
	case "qperf-tcp-lat":
		bad = f["mean"] <= 0 || f["mean"] > 1e6 || f["cost"] <= 0 || f["sender-system"] <= 0 || f["receiver-idle"] > 100
	default:
		bad = f["p50"] <= 0 || f["p50"] > f["p99"] || f["p99"] > 1e6 || f["observations"] < 50
	}
	// The kernel counts in 10 ms: a few pings on an idle machine can cost none.
	busy := s.CPU.Percent > 0 || s.Probe == "ping"
	if bad || s.Error != "" || s.Seconds < 0.1 || !busy {
		return fmt.Sprintf("%s: implausible: %v in a window of %v s, CPU %+v %s", s.Cell, f, s.Seconds, s.CPU, s.Error)
	}
	return ""
}

// nothingLeft looks for processes in the namespaces, until those that were killed
// are gone.
func nothingLeft(t *testing.T, columns []Column) {
	t.Helper()
	for _, c := range columns {
		for _, p := range []Endpoint{c.Pairs[0].Client, c.Pairs[0].Server} {
			_, err := poll.Until(20*time.Second, 100*time.Millisecond, func() error {
				out, err := exec.Command("ip", "netns", "pids", p.Name).CombinedOutput()
				if err != nil || strings.TrimSpace(string(out)) != "" {
					return fmt.Errorf("%s %v", out, err)
				}
				return nil
			})
			if err != nil {
				t.Errorf("left in %s: %v", p.Name, err)
			}
		}
	}
}
