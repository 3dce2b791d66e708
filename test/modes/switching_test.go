package modes_test

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle/test/world"
)

// heard says that the namespace did not send the frame itself, nor the host: what a
// bridge says on its own behalf (multicast reports) goes to all ports.
func heard(f world.Frame) bool {
	const hostMAC = 0x0e // the first byte of bridges' and ports' addresses
	return !f.Out && f.Data[6] != hostMAC
}

// TestQuiet: nobody overhears two containers that find each other and talk, not
// even their first packets and requests.
func TestQuiet(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	listener := w.Pod(t, "listener", "net")
	overheard := listener.Capture(t, "eth0")
	a, b := w.Pod(t, "a", "net"), w.Pod(t, "b", "net")
	at := b.Capture(t, "eth0")
	for _, to := range b.Addrs() {
		world.Soon(t, "a reaches b", func() error { return a.Ping(to, "-W1") })
	}
	b.Reaches(t, a.Addrs()...)
	a.Reaches(t, all(hostAddrs, outsideAddrs)...)
	for _, f := range overheard.Stop() {
		if heard(f) {
			t.Errorf("overheard: %s", f.Packet())
		}
	}
	frames := at.Stop()
	if n := world.Count(frames, func(f world.Frame) bool { return heard(f) && f.Packet().Layer(layers.LayerTypeARP) != nil }); n < 1 {
		t.Errorf("b saw %d ARP frames: the test proves nothing", n)
	}
	if n := world.Count(frames, func(f world.Frame) bool {
		return heard(f) && f.Packet().Layer(layers.LayerTypeICMPv6NeighborSolicitation) != nil
	}); n < 1 {
		t.Errorf("b saw %d neighbour solicitations: the test proves nothing", n)
	}
}

// TestNoNeighbourTraffic: on a routed network the first packet goes at once,
// without ARP or neighbour discovery.
func TestNoNeighbourTraffic(t *testing.T) {
	w := world.New(t)
	n := w.Network(t, "net", "routed", world.With("masquerade=true"))
	a, b := w.Pod(t, "a", "net"), w.Pod(t, "b", "net")
	at := w.Host.Capture(t, a.Port())
	for _, to := range all(b.Addrs(), n.Gateways, outsideAddrs, hostAddrs) {
		a.Ping(to)
	}
	w.Host.Reaches(t, a.Addrs()...)
	b.Reaches(t, a.Addrs()...)
	frames := at.Stop()
	for _, f := range frames {
		p := f.Packet()
		if p.Layer(layers.LayerTypeARP) != nil || p.Layer(layers.LayerTypeICMPv6NeighborSolicitation) != nil || p.Layer(layers.LayerTypeICMPv6NeighborAdvertisement) != nil {
			t.Errorf("on the wire: %s", p)
		}
	}
	if len(frames) < 10 {
		t.Errorf("%d frames captured: the test proves nothing", len(frames))
	}
}

// TestBroadcast: with broadcast=true broadcast and multicast reach all
// containers of the network, without it none.
func TestBroadcast(t *testing.T) {
	for _, option := range []string{"broadcast=true", "broadcast=false"} {
		t.Run(option, func(t *testing.T) {
			w := world.New(t)
			w.Network(t, "net", "bridge", world.With(option))
			w.Network(t, "other", "bridge", world.With(option))
			a, b, c, far := w.Pod(t, "a", "net"), w.Pod(t, "b", "net"), w.Pod(t, "c", "net"), w.Pod(t, "far", "other")
			captures := map[*world.Pod]*world.Capture{b: b.Capture(t, "eth0"), c: c.Capture(t, "eth0"), far: far.Capture(t, "eth0")}
			spread(t, a, "10.20.255.255", "255.255.255.255", "224.0.0.251", "ff02::fb%eth0")
			for pod, capture := range captures {
				want := map[bool]int{true: 4, false: 0}[option == "broadcast=true" && pod != far]
				capture.Await(want, world.Contains("spread-mark"))
				if got := world.Count(capture.Stop(), world.Contains("spread-mark")); got != want {
					t.Errorf("%s got %d frames, want %d", pod.Name, got, want)
				}
			}
		})
	}
}

// spread sends a marked datagram to broadcast and multicast addresses.
func spread(t *testing.T, from *world.Pod, to ...string) {
	t.Helper()
	for _, s := range to {
		c, err := from.Dial("udp", netip.AddrPort{}, netip.AddrPortFrom(netip.MustParseAddr(s), 5353), time.Second)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := c.(*net.UDPConn).Write([]byte("spread-mark")); err != nil {
			t.Error(err)
		}
		c.Close()
	}
}

// TestNoLearning: a bridge's forwarding table holds what the plans say and
// nothing that a container could teach it.
func TestNoLearning(t *testing.T) {
	w := world.New(t)
	n := w.Network(t, "net", "bridge")
	a, b := w.Pod(t, "a", "net"), w.Pod(t, "b", "net")
	before := w.Host.Sh(t, "bridge fdb show br %s", n.BridgeName(0))
	a.Reaches(t, b.Addrs()...)
	a.Sh(t, "ip link set eth0 address 0a:0b:0c:0d:0e:0f")
	a.Silent(t, b.Addrs()...)
	after := w.Host.Sh(t, "bridge fdb show br %s", n.BridgeName(0))
	if strings.Contains(after, "0a:0b:0c:0d:0e:0f") || before != after {
		t.Errorf("forwarding table before:\n%s\nafter:\n%s", before, after)
	}
}
