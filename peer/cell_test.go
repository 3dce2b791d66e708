package peer_test

import (
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/peer"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

// patience allows for a slow machine; the events take seconds.
const patience = 60 * time.Second

// lay makes two hosts with a router between them: one --- router --- two.
func lay(t *testing.T) {
	t.Helper()
	cell.Need(t)
	for _, name := range []string{"one", "router", "two"} {
		cell.Netns(t, name)
	}
	cell.Sh(t, `
ip -n one link add wire mtu 9000 type veth peer name first netns router
ip -n two link add wire mtu 9000 type veth peer name second netns router
ip -n router link set first mtu 9000; ip -n router link set second mtu 9000
ip netns exec router sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
ip netns exec router sysctl -qw net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0
side() { # host interface subnet
	ip -n $1 addr add 10.9.$3.2/24 dev wire; ip -n $1 addr add fd09:$3::2/64 dev wire nodad
	ip -n router addr add 10.9.$3.1/24 dev $2; ip -n router addr add fd09:$3::1/64 dev $2 nodad
	ip -n $1 link set wire up; ip -n router link set $2 up
	ip -n $1 route add default via 10.9.$3.1; ip -n $1 -6 route add default via fd09:$3::1
}
side one first 1
side two second 2`)
	// IPv6 waits for the links
	wait(t, "the other host", func() bool {
		_, err := cell.TrySh("ip netns exec one ping -c 1 -W 1 10.9.2.2 && ip netns exec one ping -6 -c 1 -W 1 fd09:2::2")
		return err == nil
	})
}

func wait(t *testing.T, what string, ok func() bool) time.Duration {
	t.Helper()
	return poll.For(t, patience, 20*time.Millisecond, what, ok)
}

func hostAt(name string, mtu int, addrs ...string) heddle.Host {
	h := heddle.Host{Name: name, ID: "id-" + name, MTU: mtu}
	for _, a := range addrs {
		h.Underlay = append(h.Underlay, netip.MustParseAddr(a))
	}
	return h
}

// from does something on a thread that is in a namespace; the thread ends with it.
func from(t *testing.T, netns string, do func()) {
	t.Helper()
	failed := make(chan error)
	go func() {
		runtime.LockOSThread()
		f, err := os.Open("/run/netns/" + netns)
		if err == nil {
			err = unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
			f.Close()
		}
		if err == nil {
			do()
		}
		failed <- err
	}()
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}

// probing has host one probe host two.
func probing(t *testing.T, f heddle.Family) *look {
	t.Helper()
	a, b := "fd09:1::2", "fd09:2::2"
	if f == heddle.IPv4 {
		a, b = "10.9.1.2", "10.9.2.2"
	}
	l := &look{t: t}
	from(t, "one", func() {
		l.Peers = peer.New(peer.Options{Self: hostAt("one", 9000, a), Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	})
	t.Cleanup(l.Close)
	l.Set([]heddle.Host{hostAt("two", 9000, b)})
	return l
}

type look struct {
	t *testing.T
	*peer.Peers
}

func (l *look) until(state peer.State, mtu int) time.Duration {
	l.t.Helper()
	var p peer.Path
	defer func() { l.t.Logf("now %+v", p) }()
	return wait(l.t, fmt.Sprintf("%s with %d bytes", state, mtu), func() bool {
		p = l.Paths()["id-two"]
		return p.State == state && p.MTU == mtu
	})
}

func each(t *testing.T, do func(t *testing.T, f heddle.Family)) {
	for _, f := range heddle.Families() {
		t.Run(f.String(), func(t *testing.T) { do(t, f) })
	}
}

// narrow gives the far wire another MTU, at both ends.
func narrow(t *testing.T, mtu int) {
	t.Helper()
	cell.Sh(t, "ip -n router link set second mtu %d; ip -n two link set wire mtu %d", mtu, mtu)
}

// deafen drops the routers' messages about packet sizes.
func deafen(t *testing.T) {
	t.Helper()
	cell.Sh(t, `ip netns exec one nft -f - <<'END'
table inet deaf {
	chain input {
		type filter hook prerouting priority -400
		icmp type destination-unreachable icmp code frag-needed drop
		icmpv6 type packet-too-big drop
	}
}
END`)
}

func TestPath(t *testing.T) {
	each(t, func(t *testing.T, f heddle.Family) {
		lay(t)
		l := probing(t, f)
		l.until(peer.Up, 9000)
		narrow(t, 1400)
		t.Logf("a router with 1400 bytes: after %v", l.until(peer.Up, 1400))
		if p := l.Paths()["id-two"]; p.RTT <= 0 || p.Since.IsZero() {
			t.Errorf("%+v", p)
		}
	})
}

func TestBlackHole(t *testing.T) {
	each(t, func(t *testing.T, f heddle.Family) {
		lay(t)
		deafen(t)
		l := probing(t, f)
		l.until(peer.Up, 9000)
		narrow(t, 1437)
		t.Logf("a router with 1437 bytes that says nothing: after %v", l.until(peer.Up, 1437))
	})
}

// TestOwnInterface follows the MTU of the host's own interface, down and up.
func TestOwnInterface(t *testing.T) {
	each(t, func(t *testing.T, f heddle.Family) {
		lay(t)
		l := probing(t, f)
		l.until(peer.Up, 9000)
		cell.Sh(t, "ip -n one link set wire mtu 1300")
		t.Logf("smaller: after %v", l.until(peer.Up, 1300))
		cell.Sh(t, "ip -n one link set wire mtu 9000")
		t.Logf("larger: after %v", l.until(peer.Up, 9000))
	})
}

func TestSilence(t *testing.T) {
	lay(t)
	l := probing(t, heddle.IPv4)
	l.until(peer.Up, 9000)
	cell.Sh(t, "ip -n two link set wire down")
	l.until(peer.Silent, 9000)
	cell.Sh(t, "ip -n two link set wire up; ip -n two route add default via 10.9.2.1")
	l.until(peer.Up, 9000)
	l.Set(nil)
	if len(l.Paths()) != 0 {
		t.Error("a peer that has left is still there")
	}
}

// TestLoss keeps the MTU on a path that drops one packet in ten each way.
func TestLoss(t *testing.T) {
	lay(t)
	cell.Sh(t, `ip netns exec router nft -f - <<'END'
table inet lossy {
	chain forward {
		type filter hook forward priority 0
		numgen random mod 10 0 drop
	}
}
END`)
	l := probing(t, heddle.IPv4)
	l.until(peer.Up, 9000)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if p := l.Paths()["id-two"]; p.MTU != 9000 {
			t.Fatalf("%+v", p)
		}
	}
}

// TestAddressComes starts before the host has its address.
func TestAddressComes(t *testing.T) {
	lay(t)
	cell.Sh(t, "ip -n two addr del 10.9.2.2/24 dev wire")
	l := probing(t, heddle.IPv4)
	l.until(peer.Silent, 0)
	cell.Sh(t, "ip -n two addr add 10.9.2.2/24 dev wire; ip -n two route replace default via 10.9.2.1")
	l.until(peer.Up, 9000)
}

// TestThrift has one host probe 200 others: about one packet a second when all is well.
func TestThrift(t *testing.T) {
	lay(t)
	const peers, length = 200, 20 * time.Second
	var hosts []heddle.Host
	script := ""
	for i := range peers {
		a := fmt.Sprintf("10.9.2.%d", 10+i)
		hosts = append(hosts, hostAt(a, 9000, a))
		script += "addr add " + a + "/24 dev wire\n"
	}
	cell.Sh(t, "ip -n two -batch - <<'END'\n%sEND", script)
	var p *peer.Peers
	from(t, "one", func() { p = peer.New(peer.Options{Self: hostAt("one", 9000, "10.9.1.2")}) })
	t.Cleanup(p.Close)
	p.Set(hosts)
	took := wait(t, "all peers", func() bool {
		up := 0
		for _, path := range p.Paths() {
			if path.State == peer.Up && path.MTU == 9000 {
				up++
			}
		}
		return up == peers
	})
	sent := func() (n int) {
		fmt.Sscan(cell.Sh(t, "ip netns exec one cat /sys/class/net/wire/statistics/tx_packets"), &n)
		return n
	}
	packets := 0
	for window := 0; window < 3 && (packets == 0 || packets > peers/2); window++ { // a peer that answered too late is probed more often
		before, cpu := sent(), used(t)
		time.Sleep(length)
		packets = sent() - before
		t.Logf("%d peers after %v; then %d packets and %v of CPU time in %v", peers, took, packets, used(t)-cpu, length)
	}
	if packets == 0 || packets > peers/2 {
		t.Errorf("%d packets in %v", packets, length)
	}
}

// used is the CPU time of this process.
func used(t *testing.T) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
