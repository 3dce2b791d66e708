package havip_test

import (
	"cmp"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// claims are all ways to say that one has an address.
func claims(p *world.Pod, a netip.Addr, hardware heddle.MAC) (all [][]byte) {
	own := p.Endpoint.MAC
	if a.Is6() {
		return [][]byte{advertisement(own, hardware, a, a), advertisement(own, hardware, p.V6(), a), advertisement(own, hardware, own.LinkLocal(), a)}
	}
	return [][]byte{arp(1, own, hardware, a, a), arp(2, own, hardware, a, a), arp(2, own, hardware, a, p.V4())}
}

// tagged are frames with an 802.1Q tag of VLAN 0, of which most look at what is behind it, and of VLAN 7.
func tagged(frames [][]byte) (all [][]byte) {
	for _, f := range frames {
		for _, id := range []byte{0, 7} {
			all = append(all, slices.Concat(f[:12], []byte{0x81, 0, 0, id}, f[12:]))
		}
	}
	return all
}

// TestAttacks: who is no member announces the addresses and sends from them, in every way, tagged or not, from a container and from a machine; so does an endpoint of another network with a
// member's labels; a member announces what is another's, and has another MAC address in its announcement. Nothing of it comes to a neighbour, nor changes the holder. What is
// refused is the member's right: labelled as one, the same frames take the addresses.
func TestAttacks(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge", world.With("broadcast=true"))
	w.Network(t, "far", "bridge")
	one, two, client := w.Pod(t, "one", "net", balancer), w.Pod(t, "two", "net", balancer), w.Pod(t, "client", "net")
	stranger, machine, far := w.Pod(t, "stranger", "net"), w.Machine(t, "machine", "net"), w.Pod(t, "far", "far", balancer)
	create(t, w, "net")
	serve(t, one)
	announce(t, one, both...)
	held(t, w, one)
	changed(t, w, 2)
	seen := client.Capture(t, "eth0")
	for _, p := range []*world.Pod{stranger, machine, far} {
		for _, a := range both {
			p.Send(t, "eth0", claims(p, a, p.Endpoint.MAC)...)
			p.Send(t, "eth0", claims(p, a, one.Endpoint.MAC)...)
			p.Send(t, "eth0", tagged(claims(p, a, p.Endpoint.MAC))...)
		}
		p.Sh(t, "ip address add %s/32 dev eth0; ip address add %s/128 dev eth0 nodad", vip4, vip6)
		for _, a := range both {
			if _, err := p.AskFrom("udp", netip.AddrPortFrom(a, 0), netip.AddrPortFrom(client.Addr(a), 9), 50*time.Millisecond); err == nil {
				t.Errorf("%s sends from %s, and is answered", p.Name, a)
			}
		}
		p.Sh(t, "ip address del %s/32 dev eth0; ip address del %s/128 dev eth0", vip4, vip6)
	}
	for _, a := range []netip.Addr{client.V4(), client.V6(), stranger.V4(), stranger.V6(), netip.MustParseAddr("10.20.0.1"), netip.MustParseAddr("fd20::1"), netip.MustParseAddr("10.20.0.101"), netip.MustParseAddr("fd20::101")} {
		two.Send(t, "eth0", claims(two, a, two.Endpoint.MAC)...)
	}
	two.Send(t, "eth0", arp(1, two.Endpoint.MAC, one.Endpoint.MAC, vip4, vip4), arp(1, one.Endpoint.MAC, one.Endpoint.MAC, vip4, vip4), advertisement(one.Endpoint.MAC, one.Endpoint.MAC, vip6, vip6))
	announce(t, two, both...) // what came before has been heeded by now
	held(t, w, two)
	changed(t, w, 4) // and nobody else's were heeded
	forged := func(f world.Frame) bool {
		from := heddle.MAC(f.Packet().LinkLayer().LinkFlow().Src().String())
		return !f.Out && (from == stranger.Endpoint.MAC || from == machine.Endpoint.MAC || from == far.Endpoint.MAC) && (containsAddr(f.Data, vip4) || containsAddr(f.Data, vip6))
	}
	if n := world.Count(seen.Stop(), forged); n > 0 {
		t.Errorf("%d frames of strangers about the addresses have come to a neighbour", n)
	}
	if drops := w.Host.Sh(t, "nft list counters table bridge heddle"); !dropped(drops, "spoofed-arp") || !dropped(drops, "spoofed-nd") || !dropped(drops, "spoofed-ip") {
		t.Errorf("not counted:\n%s", drops)
	}
	change, err := heddle.ParseLabelChange([]string{"role=lb"})
	cell.Must(t, err)
	_, err = w.Label(t.Context(), stranger.Endpoint.ID, change)
	cell.Must(t, err)
	for _, a := range both {
		stranger.Send(t, "eth0", claims(stranger, a, stranger.Endpoint.MAC)...)
	}
	held(t, w, stranger)
	change, err = heddle.ParseLabelChange([]string{"role-"})
	cell.Must(t, err)
	_, err = w.Label(t.Context(), stranger.Endpoint.ID, change)
	cell.Must(t, err)
	held(t, w, nil)
	announce(t, stranger, both...)
	announce(t, one, both...)
	held(t, w, one)
}

// TestFight: members that fight get an address in turns, no more often than bounded, and the last one has it; others of the network talk on.
func TestFight(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	one, two, third, client := w.Pod(t, "one", "net", balancer), w.Pod(t, "two", "net", balancer), w.Pod(t, "third", "net", balancer), w.Pod(t, "client", "net")
	create(t, w, "net")
	serve(t, one)
	serve(t, two)
	end := client.Stream(t, 10*time.Millisecond, one.V4(), two.V6())
	began := time.Now()
	shout := func(p *world.Pod) {
		var frames [][]byte
		for range 50 {
			frames = append(frames, arp(1, p.Endpoint.MAC, p.Endpoint.MAC, vip4, vip4), advertisement(p.Endpoint.MAC, p.Endpoint.MAC, vip6, vip6))
		}
		p.Send(t, "eth0", frames...)
	}
	for range 10 {
		shout(one)
		shout(two)
	}
	// The buffer of the agent's socket may have been full when the last came. It is read in turn: when a third member is heard, so were all before.
	world.Soon(t, "a third member has the addresses", func() error {
		announce(t, third, both...)
		for _, name := range []string{"four", "six"} {
			if h, err := w.HAVIP(name); err != nil || h.Holder == nil || *h.Holder != third.Endpoint.ID {
				return cmp.Or(err, errNotYet)
			}
		}
		return nil
	})
	announce(t, two, both...)
	held(t, w, two)
	most := 2 * (2 + int(time.Since(began)/(100*time.Millisecond)))
	if n := changes(w); n > most {
		t.Errorf("the holders have changed %d times, more than %d", n, most)
	}
	end()
	answers(t, "two", port, both, client.Netns, w.Host)
}
