package resolverbench

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
	"github.com/heddle-network/heddle/test/cell"
)

// corednsEnv names the program that make bench-resolver builds.
const corednsEnv = "HEDDLE_COREDNS"

// server is one that is measured. None has a cache.
type server struct {
	name, at string
	cmd      *exec.Cmd
}

// startServers starts all of them in the folder. The first one is ours.
func startServers(b *testing.B, dir string) []*server {
	coredns := os.Getenv(corednsEnv)
	if _, err := exec.LookPath("dnsmasq"); err != nil || coredns == "" {
		b.Skip("needs Debian's package dnsmasq-base, and CoreDNS: make bench-resolver builds it")
	}
	ours := &server{name: "heddle", at: "10.1.0.1", cmd: exec.Command("/proc/self/exe")}
	ours.cmd.Env = append(os.Environ(), serveEnv+"="+dir)
	dnsmasq := &server{name: "dnsmasq", at: "10.1.0.53"}
	dnsmasq.cmd = exec.Command("dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--bind-interfaces", "--listen-address="+dnsmasq.at,
		"--except-interface=lo", "--no-hosts", "--addn-hosts="+dir+"/hosts", "--no-resolv", "--server="+upstream, "--cache-size=0", "--user=root",
		"--pid-file", "--dns-forward-max=4096", "--local-ttl=2")
	core := &server{name: "CoreDNS", at: "10.1.0.54", cmd: exec.Command(coredns, "-quiet", "-conf", dir+"/Corefile")}
	all := []*server{ours, dnsmasq, core}
	writeFiles(b, dir, ours.at, core.at)
	for _, s := range all {
		cell.Sh(b, "ip addr add %s/16 dev app", s.at)
		s.start(b)
	}
	return all
}

func (s *server) start(b *testing.B) {
	s.cmd.Stderr = os.Stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cell.Must(b, s.cmd.Start())
	b.Cleanup(func() {
		s.cmd.Process.Kill()
		s.cmd.Wait()
	})
}

// tick is the unit of processor time in proc(5), on all machines that Go runs on.
const tick = 10 * time.Millisecond

// processor is the processor time that a server has used.
func (s *server) processor(b *testing.B) (used time.Duration) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	cell.Must(b, err)
	_, fields, _ := strings.Cut(string(text), ") ")
	for _, field := range strings.Fields(fields)[11:13] { // utime, stime
		n, err := strconv.Atoi(field)
		cell.Must(b, err)
		used += time.Duration(n) * tick
	}
	return used
}

// writeFiles writes the same names for all, and what they forward to.
func writeFiles(b *testing.B, dir, ours, core string) {
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
	corefile := fmt.Sprintf(".:53 {\n bind %s\n hosts %s/hosts heddle.internal {\n  ttl 2\n }\n forward . %s\n}\n", core, dir, upstream)
	for file, text := range map[string]string{n.ID + ".json": string(text), "hosts": hosts.String(), "Corefile": corefile,
		"resolv.conf": "nameserver " + upstream + "\n"} {
		cell.Must(b, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
	}
	cell.Must(b, os.Chmod(dir, 0o755))
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
