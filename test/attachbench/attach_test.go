// Package attachbench compares what attaching costs: in the agent (through its
// API), through heddle-cni, and through the reference plugins bridge and
// host-local of the CNI project, interleaved, with few and many endpoints.
//
//	make bench-attach
package attachbench

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/test/cell"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

const (
	rounds = 100
	// referencePorts is where the reference's bridge is full (BR_MAX_PORTS).
	referencePorts = 1000
)

var populations = []int{10, 1000, 2000}

// way is one way to attach a container.
type way struct {
	name   string
	attach func(id, netns string) error
	detach func(id, netns string) error
	took   []time.Duration
}

func BenchmarkAttach(b *testing.B) {
	cell.Need(b)
	dir := b.TempDir()
	a := cell.Start(b, dir)
	network(b, a, "v4", "10.64.0.0/16")
	network(b, a, "dual", "10.65.0.0/16", "fd65::/64")
	ways := []*way{agentWay(a, "v4"), agentWay(a, "dual"), cniWay(b, a, dir), referenceWay(b, dir)}
	have := 0
	for _, want := range populations {
		for ; have < want; have++ {
			populate(b, ways, have)
		}
		for _, w := range ways {
			w.took = nil
		}
		measure(b, ways, want)
		report(ways, want)
	}
	fmt.Printf("agent memory with %d endpoints: %s\n", 3*have, cell.Sh(b, "grep VmRSS /proc/%d/status | tr -s ' \t' ' '", a.Pid()))
	b.ReportMetric(0, "ns/op") // the table above is the figure
}

func network(b *testing.B, a *cell.Agent, name string, subnets ...string) {
	n := heddle.Network{Name: name, Mode: "bridge"}
	for _, s := range subnets {
		n.Subnets = append(n.Subnets, netip.MustParsePrefix(s))
	}
	if _, _, err := a.CreateNetwork(context.Background(), n, false); err != nil {
		b.Fatal(err)
	}
}

func agentWay(a *cell.Agent, network string) *way {
	id := func(id string) heddle.EndpointID {
		return heddle.EndpointID{Container: network + "-" + id, IfName: "eth0"}
	}
	return &way{name: "agent, " + network,
		attach: func(c, netns string) error {
			_, err := a.Attach(context.Background(), heddle.AttachRequest{Network: network, ID: id(c), Netns: netns})
			return err
		},
		detach: func(c, _ string) error {
			_, err := a.Detach(context.Background(), id(c))
			return err
		}}
}

func cniWay(b *testing.B, a *cell.Agent, dir string) *way {
	conf := `{"cniVersion":"1.0.0","name":"v4","type":"heddle-cni","network":"v4"}`
	return plugin(b, "heddle-cni, v4", nil, cell.Build(b, "heddle-cni"), conf, "HEDDLE_SOCKET="+a.Socket, "HEDDLE_CNI_QUEUE="+dir)
}

func referenceWay(b *testing.B, dir string) *way {
	plugins := filepath.Join(os.Getenv("HEDDLE_CACHE"), "cni-plugins", "v1.9.1")
	if _, err := os.Stat(filepath.Join(plugins, "bridge")); err != nil {
		b.Fatalf("%v; run 'make cni-plugins'", err)
	}
	conf := fmt.Sprintf(`{"cniVersion":"1.0.0","name":"ref","type":"bridge","bridge":"cni0","isGateway":true,
		"ipam":{"type":"host-local","dataDir":%q,"ranges":[[{"subnet":"10.66.0.0/16"}]],"routes":[{"dst":"0.0.0.0/0"}]}}`, dir)
	// A host of its own: its bridge floods, and the more ports it has the longer
	// the kernel's lock is held, by which ours would be measured.
	host, err := kernel.OpenNetns(cell.Netns(b, "reference"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(host.Close)
	return plugin(b, "reference plugins, v4", host, filepath.Join(plugins, "bridge"), conf, "CNI_PATH="+plugins)
}

// plugin runs a CNI executable as a runtime does.
func plugin(b *testing.B, name string, host *kernel.Netns, path, conf string, env ...string) *way {
	call := func(verb string) func(id, netns string) error {
		return func(id, netns string) error {
			cmd := exec.Command(path)
			cmd.Env = append([]string{"CNI_COMMAND=" + verb, "CNI_CONTAINERID=" + id, "CNI_NETNS=" + netns, "CNI_IFNAME=eth0",
				"PATH=" + os.Getenv("PATH"), "CNI_PATH=/"}, env...)
			cmd.Stdin = bytes.NewBufferString(conf)
			var out []byte
			run := func() (err error) {
				out, err = cmd.CombinedOutput()
				return err
			}
			if err := inside(host, run); err != nil {
				return fmt.Errorf("%s %s: %w: %s", name, verb, err, out)
			}
			return nil
		}
	}
	return &way{name: name, attach: call("ADD"), detach: call("DEL")}
}

// inside runs do on a host: the cell itself if it is nil.
func inside(host *kernel.Netns, do func() error) error {
	if host == nil {
		return do()
	}
	return host.Do(do)
}

// populate adds one endpoint by the agent's two networks and the reference.
func populate(b *testing.B, ways []*way, i int) {
	for k, w := range ways {
		reference := k == len(ways)-1
		if (reference && i >= referencePorts) || k == 2 { // heddle-cni fills the network v4 that the agent fills already
			continue
		}
		name := fmt.Sprintf("full%d-%d", k, i)
		path := cell.Netns(b, name)
		if err := w.attach(name, path); err != nil {
			b.Fatal(err)
		}
	}
	if i%250 == 249 {
		fmt.Fprintf(os.Stderr, "%d endpoints on each network\n", i+1)
	}
}

func measure(b *testing.B, ways []*way, population int) {
	order := rand.New(rand.NewPCG(1, uint64(population)))
	for round := range rounds {
		for _, k := range order.Perm(len(ways)) {
			name := fmt.Sprintf("one%d", k)
			path := cell.Netns(b, name)
			start := time.Now()
			if err := ways[k].attach(name, path); err != nil {
				b.Fatal(err)
			}
			took := time.Since(start)
			if err := ways[k].detach(name, path); err != nil {
				b.Fatal(err)
			}
			cell.Sh(b, "ip netns del %s", name)
			if round >= 5 { // the first ones warm up
				ways[k].took = append(ways[k].took, took)
			}
		}
	}
}

func report(ways []*way, population int) {
	reference := ways[len(ways)-1]
	base := quantile(reference.took, 0.5)
	fmt.Printf("\nattach with %d endpoints, %d interleaved rounds\n%-24s %8s %8s %10s\n", population, rounds, "", "p50 ms", "p99 ms", "÷ reference")
	for _, w := range ways {
		note := ""
		if w == reference && population > referencePorts {
			note = fmt.Sprintf("  (with %d: its bridge has no room for more)", referencePorts)
		}
		p50 := quantile(w.took, 0.5)
		fmt.Printf("%-24s %8.2f %8.2f %10.2f%s\n", w.name, ms(p50), ms(quantile(w.took, 0.99)), float64(p50)/float64(base), note)
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func quantile(d []time.Duration, q float64) time.Duration {
	s := append([]time.Duration(nil), d...)
	sort.Slice(s, func(i, j int) bool { return s[i] < s[j] })
	return s[int(q*float64(len(s)-1))]
}
