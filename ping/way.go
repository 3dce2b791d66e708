package ping

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// Carrier is which endpoint of a container sends to an address, as its records say: the one that is on the address's network, or else the one with
// the default route.
func Carrier(from End, others []End, to netip.Addr) End {
	reaches := func(e End) bool {
		return slices.ContainsFunc(e.Network.Subnets, func(s netip.Prefix) bool { return s.Contains(to) })
	}
	byDefault := func(e End) bool { return e.Endpoint.DefaultRoute }
	for _, carries := range []func(End) bool{reaches, byDefault} {
		if carries(from) {
			return from
		}
		if i := slices.IndexFunc(others, carries); i >= 0 {
			return others[i]
		}
	}
	return from
}

// Way says by which way packets go.
func Way(f Facts) Path {
	e, n := f.From.Endpoint, f.From.Network
	p := Path{From: f.Asked, To: f.To, MTU: e.MTU}
	peer, isPeers := f.holder()
	has := func(l heddle.LinkFact) bool {
		return slices.ContainsFunc(l.Addrs, func(a netip.Prefix) bool { return a.Addr() == f.To })
	}
	switch {
	case f.From.OwnStack:
		p.Where, p.By, p.MTU = Unknown, Stack, 0
		p.Text = "network " + n.Name + " is the host's own stack, of whose ways the agent knows nothing"
	case f.To.IsLoopback() || slices.Contains(e.Sources(), f.To):
		p.Where, p.By, p.MTU = Itself, Loopback, 0
		p.Text = Itself
	case f.End != nil:
		f.onSameHost(&p)
	case slices.Contains(n.Gateways, f.To) && !f.From.OnLAN:
		p.Where, p.By, p.Text = HostOwn, f.stackOf(), "the gateway of network "+n.Name+", which this host is"
	case isPeers:
		f.toPeer(&p, peer)
	case slices.ContainsFunc(f.Host.Links, has):
		p.Where, p.By, p.Text = HostOwn, f.stackOf(), HostOwn
	default:
		if n, known := f.network(); known {
			f.toNobody(&p, n)
			break
		}
		f.toOutside(&p)
	}
	if e.ID != f.Asked {
		p.Carrier, p.Text = e.ID, "by endpoint "+e.ID.Short()+" of its container, "+p.Text
	}
	if p.MTU > 0 {
		p.Text += fmt.Sprintf(", MTU %d", p.MTU)
		if p.Where == Outside || p.Where == OtherVPC || p.Where == LAN {
			p.Text += " on this host and unknown beyond"
		}
	}
	return p
}

// stackOf is how packets get to the host itself: on a LAN nobody knows.
func (f Facts) stackOf() string {
	if f.From.OnLAN {
		return Unknown
	}
	return Stack
}

// shortcut is what the fast path knows of the address, if the sender takes it: the longest prefix of the network.
func (f Facts) shortcut(of heddle.State) (s heddle.Shortcut, fast bool) {
	programmed := slices.ContainsFunc(f.From.Plan.Programs, func(p heddle.Program) bool { return p.Link == f.From.Endpoint.ID.PortName() })
	for _, one := range of.Shortcuts {
		if one.Group == f.From.Network.Group() && one.Prefix.Contains(f.To) && (!s.Prefix.IsValid() || one.Prefix.Bits() > s.Prefix.Bits()) {
			s = one
		}
	}
	return s, f.FastPath && programmed && (s.Link != "" || s.Peer.IsValid())
}

// fragmented reports whether a packet is sent in pieces, which take the stack.
func (f Facts) fragmented(mtu int) bool { return mtu > 0 && f.Bytes > mtu }

// network is the network of this host in whose subnet the address is: the sender's first.
func (f Facts) network() (n heddle.Network, known bool) {
	for _, n := range append([]heddle.Network{f.From.Network}, f.Networks...) {
		if n.Mode != heddle.ModePeering && within(n, f.To) {
			return n, true
		}
	}
	return n, false
}

func within(n heddle.Network, a netip.Addr) bool {
	return slices.ContainsFunc(n.Subnets, func(s netip.Prefix) bool { return s.Contains(a) })
}

// onSameHost is the way to an endpoint of this host.
func (f Facts) onSameHost(p *Path) {
	n, to := f.From.Network, f.End.Network
	p.Where, p.By, p.Endpoint = SameHost, Stack, f.End.Endpoint.ID
	if other := f.End.Endpoint.MTU; other > 0 && (p.MTU == 0 || other < p.MTU) {
		p.MTU = other
	}
	_, fast := f.shortcut(f.End.Plan)
	same := n.ID == to.ID
	switch {
	case f.From.OnLAN || f.End.OnLAN:
		p.By = Unknown
		if same && f.From.Endpoint.NIC == nil {
			p.By = NIC
		}
	case same && fast && !f.fragmented(p.MTU):
		p.By = FastPath
	case same && f.From.bridge() != "" && f.End.bridge() != "":
		p.By = Bridge
	}
	p.Text = "same host, network " + n.Name
	if !same {
		p.Text = "same host, from network " + n.Name + " to network " + to.Name
		if !Joined(n, to) && p.By == Stack {
			p.Text += ", which are not joined"
		}
	}
	switch p.By {
	case Unknown:
		p.Text += ", by a LAN, of whose ways the agent knows nothing"
	case NIC:
		p.Text += ", within NIC " + n.Parent + ", past the host's stack"
	case FastPath:
		p.Text += ", by the fast path"
	case Bridge:
		way := "the network's bridges" // a large one has several
		if f.From.bridge() == f.End.bridge() {
			way = "bridge " + f.From.bridge()
		}
		p.Text += ", by " + way + ", without the fast path"
	case Stack:
		p.Text += ", through the host's stack"
	}
}

// Joined reports whether one of two networks allows the other one.
func Joined(n, m heddle.Network) bool {
	return n.ID == m.ID || slices.Contains(n.Allow, m.ID) || slices.Contains(m.Allow, n.ID)
}

// bridge is the bridge of which the endpoint is a port; "" if of none.
func (e End) bridge() string {
	for _, l := range e.Plan.Links {
		if l.Name == e.Endpoint.ID.PortName() {
			return l.Master
		}
	}
	return ""
}
