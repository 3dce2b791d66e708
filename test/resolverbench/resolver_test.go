// Package resolverbench compares our resolver with dnsmasq and CoreDNS: names that each knows from
// files, and names that each forwards to one and the same name server, asked by a container in turns.
//
//	make bench-resolver
package resolverbench

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/resolver"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/world"
)

// serveEnv names the folder of a resolver that this program is then.
const serveEnv = "HEDDLE_RESOLVERBENCH_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveEnv); dir != "" {
		free := resolver.Limits{Rate: 1 << 30, Burst: 1 << 30, Forwards: 4096, Connections: 4096, AllForwards: 4096, AllConnections: 4096}
		if err := resolver.Run(context.Background(), resolver.Options{Dir: dir, ResolvConf: dir + "/resolv.conf", Limits: free, Log: slog.Default()}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(cell.Main(m))
}

const (
	rounds    = 40
	questions = 2000 // in a turn
	known     = 1000 // names
	upstream  = "127.0.0.9"
)

func BenchmarkResolver(b *testing.B) {
	cell.Need(b)
	c := world.NewNetns(b, "c")
	cell.Sh(b, `ip link add app type bridge && ip link set app up
		ip link add port master app type veth peer eth0 netns c && ip link set port up
		ip -n c link set eth0 up && ip -n c addr add 10.1.0.2/16 dev eth0`)
	serveUpstream(b)
	all := startServers(b, b.TempDir())
	for _, s := range all {
		poll.For(b, time.Minute, 10*time.Millisecond, s.name+" answers", func() bool { return ask(b, c, s.at, 1, 1, knownName) == nil })
	}
	fmt.Printf("%d rounds of %d questions, in random order; %d cores, nobody is bound to one; load %s\n", rounds, questions, runtime.NumCPU(), load(b))
	for _, kind := range []struct {
		what string
		name func() string
	}{{"known", knownName}, {"forwarded", otherName}} {
		for _, clients := range []int{1, 16} {
			fmt.Printf("\n%s, %d at a time:\n", kind.what, clients)
			compare(b, c, all, clients, kind.name)
		}
	}
	fmt.Printf("\nload %s\n", load(b))
	b.ReportMetric(0, "ns/op") // the lines printed are the figures
}

func knownName() string { return fmt.Sprintf("n%d.app.heddle.internal.", rand.IntN(known)) }

func otherName() string { return fmt.Sprintf("x%x.example.org.", rand.Uint64()) }

// compare has all asked in turns, and prints what each did, and ours divided by each within a round.
func compare(b *testing.B, c world.Netns, all []*server, clients int, name func() string) {
	rates, used := make([]map[int]float64, len(all)), make([]time.Duration, len(all))
	for i := range all {
		rates[i] = map[int]float64{}
	}
	for round := range rounds {
		for _, i := range rand.Perm(len(all)) {
			before, begin := all[i].processor(b), time.Now()
			if err := ask(b, c, all[i].at, clients, questions/clients, name); err != nil {
				b.Fatalf("%s: %v", all[i].name, err)
			}
			rates[i][round] = questions / time.Since(begin).Seconds()
			used[i] += all[i].processor(b) - before
		}
	}
	for i, s := range all {
		var sample []float64
		for _, rate := range rates[i] {
			sample = append(sample, rate)
		}
		stat := bench.Summarise(sample)
		fmt.Printf("  %-8s %6.0f/s (quartiles %.0f, %.0f; CV %.2f), %3.0f µs of processor time each", s.name, stat.Median, stat.Q1, stat.Q3, stat.CV,
			used[i].Seconds()*1e6/(rounds*questions))
		if ratio, ok := bench.PairedRatio(rates[0], rates[i], 1); ok && i > 0 {
			fmt.Printf("; heddle ÷ %s %.2f [%.2f, %.2f]", s.name, ratio.Median, ratio.Low, ratio.High)
		}
		fmt.Println()
	}
}

// load is what the machine has to do, all in all.
func load(b *testing.B) string {
	text, err := os.ReadFile("/proc/loadavg")
	cell.Must(b, err)
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
