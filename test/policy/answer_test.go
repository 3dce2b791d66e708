package policy_test

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestAnswers: what an endpoint that is closed both ways may begin is answered whole: over each protocol, in pieces, by errors of its peer
// and of routers. So is what others may begin with it.
func TestAnswers(t *testing.T) {
	for _, nf := range []bool{false, true} {
		t.Run(map[bool]string{false: "bridge", true: "bridge nf"}[nf], func(t *testing.T) {
			w := world.New(t)
			if !w.BridgeNF(t, nf) {
				t.Skip("no br_netfilter")
			}
			n := w.Network(t, "net", "bridge")
			shut, peer, other := w.Pod(t, "shut", "net", named("shut")), w.Pod(t, "peer", "net", named("peer")), w.Pod(t, "other", "net")
			enforce(t, w, `
policies:
- name: shut
  endpoints: {names: [shut]}
  rules:
  - {direction: egress, action: allow, peers: [{endpoints: {names: [peer]}}, {cidr: 192.0.2.0/24}, {cidr: "2001:db8::/32"}]}
  - {direction: ingress, action: allow, protocol: udp, ports: [7100], peers: [endpoints: {names: [peer]}]}
`)
			for _, p := range []*world.Pod{peer, other} {
				p.Serve(t, 7000, p.Addrs()...)
			}
			w.Outside.Serve(t, 7000, world.Outside4, world.Outside6)
			shut.Gets(t, "peer", 7000, peer.Addrs()...)
			shut.Gets(t, "outside", 7000, world.Outside4, world.Outside6)
			shut.GetsNothing(t, 7000, other.Addrs()...)
			shut.Reaches(t, append(peer.Addrs(), world.Outside4, world.Outside6)...)
			shut.Silent(t, append(n.Gateways, other.Addrs()...)...)
			peer.Silent(t, shut.Addrs()...)

			for _, at := range peer.Addrs() {
				echo(t, peer, at, 7100)
				whole(t, shut, at, 7100)
				refused(t, shut, netip.AddrPortFrom(at, 7999))
			}
			for _, at := range shut.Addrs() {
				echo(t, shut, at, 7100)
				whole(t, peer, at, 7100)
			}
			for flag, at := range map[string]netip.Addr{"-4": world.Outside4, "-6": world.Outside6} {
				if out, err := shut.TrySh("ping %s -c1 -W2 -t1 %s", flag, at); err == nil || !strings.Contains(strings.ToLower(out+err.Error()), "exceeded") {
					t.Errorf("no router's error about a ping to %s: %s %v", at, out, err)
				}
			}
			if !nf {
				pings(t, w, n, shut, peer, other)
				pingsEnd(t, w, peer)
			}
			w.AuditEmpty(t)
		})
	}
}

// echo sends datagrams back.
func echo(t *testing.T, at *world.Pod, addr netip.Addr, port uint16) {
	t.Helper()
	var c *net.UDPConn
	cell.Must(t, at.Do(func() (err error) {
		c, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, port)))
		return err
	}))
	t.Cleanup(func() { c.Close() })
	go func() {
		for b := make([]byte, 1<<16); ; {
			n, from, err := c.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			c.WriteToUDPAddrPort(b[:n], from)
		}
	}()
}

// dial opens a UDP socket that sends nothing yet.
func dial(t *testing.T, from *world.Pod, to netip.AddrPort) *net.UDPConn {
	t.Helper()
	var c *net.UDPConn
	cell.Must(t, from.Do(func() (err error) {
		c, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
		return err
	}))
	t.Cleanup(func() { c.Close() })
	return c
}

// whole has a datagram of several fragments come and go.
func whole(t *testing.T, from *world.Pod, at netip.Addr, port uint16) {
	t.Helper()
	c := dial(t, from, netip.AddrPortFrom(at, port))
	b := make([]byte, 9000)
	for range 5 { // a machine that is busy may lose one
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
		c.SetReadDeadline(time.Now().Add(2 * time.Second))
		if n, err := c.Read(b); err == nil && n == len(b) {
			return
		}
	}
	t.Errorf("%s gets no answer in pieces from %s", from.Name, at)
}

// refused has an error of the peer come back.
func refused(t *testing.T, from *world.Pod, to netip.AddrPort) {
	t.Helper()
	c := dial(t, from, to)
	world.Soon(t, "the error of "+to.String()+" comes", func() error {
		c.Write([]byte("nobody"))
		c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
		_, err := c.Read(make([]byte, 10))
		if errors.Is(err, syscall.ECONNREFUSED) {
			return nil
		}
		return err
	})
}

// ask sends a datagram, and waits for it to come back.
func ask(c *net.UDPConn) error {
	c.SetDeadline(time.Now().Add(world.Refusal))
	_, err := c.Write([]byte("ask"))
	if err == nil {
		_, err = c.Read(make([]byte, 10))
	}
	return err
}
