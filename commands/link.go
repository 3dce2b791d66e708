package commands

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

func (t typist) link(l heddle.Link) []string {
	var out []string
	switch {
	case l.Kind == "veth" && l.Peer != "":
		out = append(out, t.ip("link add %s%s type veth peer name %s", l.Name, attributes(l), peerText(l, t.plan, t.to)))
	case l.Kind == "macvlan" || l.Kind == "ipvlan":
		// made from the host, where the parent is
		netns := ""
		if t.pod != "" {
			netns = " netns " + t.pod
		}
		out = append(out, typist{}.ip("link add link %s name %s%s%s type %s mode %s", l.Parent, l.Name, netns, attributes(l), l.Kind, l.SubMode))
	case l.Kind == "vxlan" && l.Tunnel != nil:
		out = append(out, t.ip("link add %s%s type vxlan %s", l.Name, attributes(l), tunnel(*l.Tunnel)))
		if l.Tunnel.SoftChecksums {
			out = append(out, t.inside("ethtool -K "+l.Name+" tx-checksum-ip-generic off"))
		}
	case l.Kind == "bridge":
		// an MTU given at birth is forgotten when the last port leaves; one set
		// later stays (net/bridge/br_if.c, br_mtu_auto_adjust)
		mtu := l.MTU
		l.MTU = 0
		out = append(out, t.ip("link add %s%s type bridge mcast_snooping 0", l.Name, attributes(l)))
		if mtu != 0 {
			out = append(out, t.ip("link set %s mtu %d", l.Name, mtu))
		}
	}
	if l.Group != 0 {
		out = append(out, t.ip("link set %s group %#x", l.Name, l.Group))
	}
	if l.Alias != "" {
		out = append(out, t.ip("link set %s alias '%s'", l.Name, l.Alias))
	}
	if l.NoAutoAddress {
		out = append(out, t.ip("link set %s addrgenmode none", l.Name))
	}
	if l.GSOMax != 0 {
		// of iproute2 since 6.3
		out = append(out, "# "+t.ip("link set %s gso_ipv4_max_size %d", l.Name, l.GSOMax))
	}
	if l.Master != "" {
		out = append(out, t.ip("link set %s master %s", l.Name, l.Master))
	}
	if b := l.Port; b != nil {
		out = append(out, t.tool("bridge", "link set dev %s learning %s flood %s mcast_flood %s bcast_flood %s hairpin %s",
			l.Name, onOff(b.Learning), onOff(b.Flood), onOff(b.MulticastFlood), onOff(b.BroadcastFlood), onOff(b.Hairpin)))
	}
	return out
}

// nic writes the move of a NIC, from the host; iproute2 sends the last line as one
// request.
func (t typist) nic(n heddle.NIC) []string {
	pod := t.to
	t.pod = ""
	return []string{
		t.ip("link set %s alias '%s'", n.Name, n.Alias),
		t.ip("link set %s down", n.Name),
		t.ip("link set %s netns %s name %s", n.Name, pod, n.IfName),
	}
}

// oneQueue each way is what a veth uses; by default it has one for each processor
// that there may ever be.
const oneQueue = " numtxqueues 1 numrxqueues 1"

func attributes(l heddle.Link) string {
	s := ""
	if l.MTU != 0 {
		s += fmt.Sprintf(" mtu %d", l.MTU)
	}
	if l.MAC != "" {
		s += " address " + string(l.MAC)
	}
	if l.Kind == "veth" {
		s += oneQueue
	}
	return s
}

// peerText finds the far end of the pair, wherever it lies.
func peerText(l heddle.Link, p heddle.Plan, pod string) string {
	side, netns := p.Host.Links, ""
	if l.PeerInPod {
		side, netns = p.Pod.Links, " netns "+pod
	}
	for _, far := range side {
		if far.Name == l.Peer {
			return far.Name + attributes(far) + netns
		}
	}
	return l.Peer + oneQueue + netns
}

// tunnel writes the tunnel as ip-link(8) takes it.
func tunnel(t heddle.Tunnel) string {
	checksums := "noudpcsum"
	if t.Local.Is6() {
		checksums = "udp6zerocsumtx udp6zerocsumrx"
	}
	return fmt.Sprintf("id %d local %s srcport %d %d dstport %d nolearning %s", t.VNI, t.Local, heddle.TunnelSourceLow, heddle.TunnelSourceEnd, t.Port, checksums)
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}
