package commands

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

func (w writer) link(l heddle.Link) []string {
	var out []string
	switch {
	case l.Kind == "veth" && l.Peer != "":
		out = append(out, w.ip("link add %s%s type veth peer name %s", l.Name, linkFlags(l), peerFlags(l, w.plan, w.podNetns)))
	case l.MadeElsewhere:
		out = append(out, w.ip("link set %s mtu %d address %s", l.Name, l.MTU, l.MAC))
	case l.Kind == "macvlan" || l.Kind == "ipvlan":
		// made from the host, where the parent is
		netns := ""
		if w.pod != "" {
			netns = " netns " + w.pod
		}
		out = append(out, writer{}.ip("link add link %s name %s%s%s type %s mode %s", l.Parent, l.Name, netns, linkFlags(l), l.Kind, l.SubMode))
	case l.Kind == "vxlan" && l.Tunnel != nil:
		out = append(out, w.ip("link add %s%s type vxlan %s", l.Name, linkFlags(l), tunnelFlags(*l.Tunnel)))
		if l.Tunnel.SoftChecksums {
			out = append(out, w.inNamespace("ethtool -K "+l.Name+" tx-checksum-ip-generic off"))
		}
	case l.Kind == "tun":
		queues := ""
		if l.MultiQueue {
			queues = " multi_queue"
		}
		out = append(out, w.ip("tuntap add %s mode tap vnet_hdr%s", l.Name, queues), w.ip("link set %s%s", l.Name, linkFlags(l)))
	case l.Kind == "ifb":
		out = append(out, w.ip("link add %s%s type ifb", l.Name, linkFlags(l)))
	case l.Kind == "bridge":
		// an MTU given at creation is lost when the last port leaves; one set
		// later stays (net/bridge/br_if.c, br_mtu_auto_adjust)
		mtu := l.MTU
		l.MTU = 0
		out = append(out, w.ip("link add %s%s type bridge mcast_snooping 0", l.Name, linkFlags(l)))
		if mtu != 0 {
			out = append(out, w.ip("link set %s mtu %d", l.Name, mtu))
		}
	}
	if l.Group != 0 {
		out = append(out, w.ip("link set %s group %#x", l.Name, l.Group))
	}
	if l.Alias != "" {
		out = append(out, w.ip("link set %s alias '%s'", l.Name, l.Alias))
	}
	if l.NoAutoAddress {
		out = append(out, w.ip("link set %s addrgenmode none", l.Name))
	}
	if l.GSOMax != 0 {
		// needs iproute2 6.3
		out = append(out, "# "+w.ip("link set %s gso_ipv4_max_size %d", l.Name, l.GSOMax))
	}
	if l.Master != "" {
		out = append(out, w.ip("link set %s master %s", l.Name, l.Master))
	}
	if b := l.Port; b != nil {
		out = append(out, w.command("bridge", "link set dev %s learning %s flood %s mcast_flood %s bcast_flood %s hairpin %s",
			l.Name, onOff(b.Learning), onOff(b.Flood), onOff(b.MulticastFlood), onOff(b.BroadcastFlood), onOff(b.Hairpin)))
	}
	return out
}

// Where the kernel has the devices of the PCI bus, and looks for the driver of one.
const devices, probe = "/sys/bus/pci/devices", "/sys/bus/pci/drivers_probe"

// nic writes the move of a NIC from the host to the container; iproute2 sends the last
// line as one request. One that a program drives gets another driver.
func (w writer) nic(n heddle.NIC) []string {
	if d := n.Device; d != nil {
		return []string{
			fmt.Sprintf("echo %s >%s/%s/driver_override", d.Driver, devices, d.Address),
			fmt.Sprintf("echo %s >%s/%s/driver/unbind", d.Address, devices, d.Address),
			"echo " + d.Address + " >" + probe,
		}
	}
	pod := w.podNetns
	w.pod = ""
	return []string{
		w.ip("link set %s alias '%s'", n.Name, n.Alias),
		w.ip("link set %s down", n.Name),
		w.ip("link set %s netns %s name %s", n.Name, pod, n.IfName),
	}
}

// queueFlags give a veth one queue each way, which is all it uses. By default it has one
// for each possible processor.
const queueFlags = " numtxqueues 1 numrxqueues 1"

func linkFlags(l heddle.Link) string {
	s := ""
	if l.MTU != 0 {
		s += fmt.Sprintf(" mtu %d", l.MTU)
	}
	if l.MAC != "" {
		s += " address " + string(l.MAC)
	}
	if l.Kind == "veth" {
		s += queueFlags
	}
	return s
}

// peerFlags returns the name and flags of the other end of a pair.
func peerFlags(l heddle.Link, p heddle.Plan, pod string) string {
	if l.PeerNetns != "" {
		return l.Peer + " netns " + l.PeerNetns
	}
	side, netns := p.Host.Links, ""
	if l.PeerInPod {
		side, netns = p.Pod.Links, " netns "+pod
	}
	for _, far := range side {
		if far.Name == l.Peer {
			return far.Name + linkFlags(far) + netns
		}
	}
	return l.Peer + queueFlags + netns
}

// tunnelFlags writes a tunnel as arguments of ip-link(8).
func tunnelFlags(t heddle.Tunnel) string {
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
