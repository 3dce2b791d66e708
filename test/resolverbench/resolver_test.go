// Package resolverbench compares our resolver with dnsmasq: names that either knows from files, and
// names that either forwards to one and the same name server, asked by a container in turns.
//
//	make bench-resolver
package resolverbench

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
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
	rounds    = 15
	questions = 4000 // in a turn
	known     = 1000 // names
	ours      = "10.1.0.1"
	theirs    = "10.1.0.53"
	upstream  = "127.0.0.9"
)

func BenchmarkResolver(b *testing.B) {
	cell.Need(b)
	if _, err := exec.LookPath("dnsmasq"); err != nil {
		b.Skip("needs Debian's package dnsmasq-base")
	}
	dir := b.TempDir()
	c := world.NewNetns(b, "c")
	cell.Sh(b, `ip link add app type bridge && ip link set app up && ip addr add %s/16 dev app && ip addr add %s/16 dev app
		ip link add port master app type veth peer eth0 netns c && ip link set port up
		ip -n c link set eth0 up && ip -n c addr add 10.1.0.2/16 dev eth0`, ours, theirs)
	serveUpstream(b)
	writeNames(b, dir)
	start(b, exec.Command("/proc/self/exe"), serveEnv+"="+dir)
	start(b, exec.Command("dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--bind-interfaces", "--listen-address="+theirs, "--except-interface=lo",
		"--no-hosts", "--addn-hosts="+dir+"/hosts", "--no-resolv", "--server="+upstream, "--cache-size=0", "--user=root", "--pid-file", "--dns-forward-max=4096", "--local-ttl=2"))
	for _, at := range []string{ours, theirs} {
		poll.For(b, time.Minute, 10*time.Millisecond, at+" answers", func() bool { return ask(b, c, at, 1, 1, knownName) == nil })
	}
	for _, kind := range []struct {
		what string
		name func() string
	}{{"known", knownName}, {"forwarded", otherName}} {
		for _, clients := range []int{1, 16} {
			compare(b, c, kind.what, clients, kind.name)
		}
	}
	b.ReportMetric(0, "ns/op") // the lines printed are the figures
}

func knownName() string { return fmt.Sprintf("n%d.app.heddle.internal.", rand.IntN(known)) }

func otherName() string { return fmt.Sprintf("x%x.example.org.", rand.Uint64()) }

// compare has both asked in turns, in random order, and prints the ratio of a round: its median
// and its quartiles.
func compare(b *testing.B, c world.Netns, what string, clients int, name func() string) {
	var rates [2][]float64
	var ratios []float64
	for range rounds {
		var took [2]time.Duration
		for _, k := range rand.Perm(2) {
			begin := time.Now()
			if err := ask(b, c, []string{ours, theirs}[k], clients, questions/clients, name); err != nil {
				b.Fatal(err)
			}
			took[k] = time.Since(begin)
			rates[k] = append(rates[k], questions/took[k].Seconds())
		}
		ratios = append(ratios, took[1].Seconds()/took[0].Seconds())
	}
	slices.Sort(ratios)
	fmt.Printf("%-10s %2d at a time: ours %6.0f/s, dnsmasq %6.0f/s, ours ÷ dnsmasq %.2f (quartiles %.2f, %.2f)\n", what, clients,
		median(rates[0]), median(rates[1]), median(ratios), ratios[rounds/4], ratios[rounds*3/4])
}

func median(all []float64) float64 {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

// ask asks questions one after the other, on so many sockets at the same time.
func ask(b *testing.B, c world.Netns, at string, clients, each int, name func() string) error {
	to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(at), 53))
	failed := make([]error, clients)
	var running sync.WaitGroup
	for i := range clients {
		var conn *net.UDPConn
		cell.Must(b, c.Do(func() (err error) {
			conn, err = net.DialUDP("udp", nil, to)
			return err
		}))
		running.Go(func() {
			defer conn.Close()
			failed[i] = askOn(conn, each, name)
		})
	}
	running.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

func askOn(conn *net.UDPConn, each int, name func() string) error {
	reply := make([]byte, 512)
	for range each {
		q, err := new(dns.Msg).SetQuestion(name(), dns.TypeA).Pack()
		if err != nil {
			return err
		}
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := conn.Write(q); err != nil {
			return err
		}
		n, err := conn.Read(reply)
		if err != nil {
			return err
		}
		if n < 12 || reply[3]&0xf != 0 || reply[7] != 1 || reply[0] != q[0] || reply[1] != q[1] {
			return fmt.Errorf("%x is no answer to %x", reply[:n], q)
		}
	}
	return nil
}

func serveUpstream(b *testing.B) {
	c, err := net.ListenPacket("udp", upstream+":53")
	cell.Must(b, err)
	s := &dns.Server{PacketConn: c, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		r := new(dns.Msg).SetReply(q)
		r.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60}, A: net.IPv4(198, 51, 100, 7)}}
		w.WriteMsg(r)
	})}
	go s.ActivateAndServe()
	b.Cleanup(func() { s.Shutdown() })
}

// writeNames writes the same names for both.
func writeNames(b *testing.B, dir string) {
	n := names.Network{ID: "00000000000000a1", Name: "app", Listen: []netip.Addr{netip.MustParseAddr(ours)},
		Endpoints: []names.Endpoint{{ID: heddle.EndpointID{Container: "c"}, Addrs: []netip.Addr{netip.MustParseAddr("10.1.0.2")}}}}
	var hosts strings.Builder
	a := netip.MustParseAddr("10.1.1.0")
	for i := range known {
		n.Endpoints = append(n.Endpoints, names.Endpoint{Host: "host2", Name: fmt.Sprint("n", i), Addrs: []netip.Addr{a}})
		fmt.Fprintf(&hosts, "%s n%d.app.heddle.internal\n", a, i)
		a = a.Next()
	}
	text, err := json.Marshal(n)
	cell.Must(b, err)
	for file, text := range map[string]string{n.ID + ".json": string(text), "hosts": hosts.String(), "resolv.conf": "nameserver " + upstream + "\n"} {
		cell.Must(b, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
	}
	cell.Must(b, os.Chmod(dir, 0o755))
}

func start(b *testing.B, cmd *exec.Cmd, env ...string) {
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cell.Must(b, cmd.Start())
	b.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
}
