package rig

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/lab"
)

// The modes that need more than a subnet.
const (
	modeRouted  = "routed"
	modeMacvlan = "macvlan"
	modeIPvlan  = "ipvlan"
	modeDirect  = "direct"
)

// baseMode is the mode without the suffix that turns the fast path off.
func baseMode(mode string) string { return strings.TrimSuffix(mode, bench.Stack) }

// addPathNotes describes the path of the packets in the columns, if it is not obvious.
func addPathNotes(same, across bench.Column) {
	if baseMode(same.Mode) != same.Mode {
		same.Notes["path"], across.Notes["path"] = "the host's stack (fast-path=false)", "the host's stack (fast-path=false)"
	}
	switch baseMode(same.Mode) {
	case bench.Reference:
		across.Notes["way"] = "masqueraded by the first host, published port on the second"
	case bench.Native:
		across.Notes["way"] = "between hosts without an agent or any firewall rule"
	case modeDirect:
		same.Notes["way"] = "through the switch: each container has a wire of its own"
	case bench.DockerLayout, bench.DockerLayoutNF:
		same.Notes["way"], across.Notes["way"] = dockerNote, dockerNote
	}
}

// addNetwork makes a mode's network on both hosts.
func (r *Rig) addNetwork(ctx context.Context, s *testLab, number int, mode string) error {
	switch baseMode(mode) {
	case bench.Native:
		return nil
	case bench.DockerLayout, bench.DockerLayoutNF:
		return r.dockerNetwork(ctx, s, number, mode)
	case bench.Overlay:
		return s.createShared(ctx, r.network(s, number, 0, mode))
	}
	for host := range s.agents {
		if mode == modeMacvlan && r.macvlanOwnParent() {
			if err := ipOn(ctx, s.lab.Hosts[host], "link", "set", r.macvlanParent(s), "up"); err != nil {
				return err
			}
		}
		if _, _, err := s.agents[host].CreateNetwork(ctx, r.network(s, number, host, mode), false); err != nil {
			return err
		}
	}
	return r.addRoutes(ctx, s, number, mode)
}

// network of a mode on a host. A mode whose containers are on the wire has one
// subnet on both hosts, and each host its own range of it.
func (r *Rig) network(s *testLab, number, host int, mode string) heddle.Network {
	n := heddle.Network{Name: "bench-" + mode, Mode: baseMode(mode), MTU: r.mtu(s, mode)}
	if n.Mode != mode {
		n.Options = map[string]string{"fast-path": "false"}
	}
	if r.plugs(mode) {
		n.Options = map[string]string{"plug": pluggedNetwork(mode)}
		if mode != modeDirect { // whose NICs come with their subnets
			n.Subnets = r.pluggedSubnets(mode)
		}
		return n
	}
	switch n.Mode {
	case bench.Control:
	case modeMacvlan, modeIPvlan:
		n.Parent = lab.NICName(0)
		shared := s.lab.Topology.Switches[0].Subnets
		if n.Mode == modeMacvlan && r.macvlanOwnParent() {
			n.Parent, shared = r.macvlanParent(s), subnets(number, 0) // eth0 has the wire's own
		}
		shareSubnets(&n, shared, host)
	case modeDirect:
		shareSubnets(&n, subnets(number, 0), host)
		spare := s.lab.Topology.Hosts[0].Spare
		if r.macvlanOwnParent() {
			spare--
		}
		var nics []string
		for i := range spare {
			nics = append(nics, lab.NICName(1+i))
		}
		n.Options = map[string]string{"nics": strings.Join(nics, ",")}
	default:
		n.Subnets = subnets(number, host)
	}
	return n
}

// subnets are the subnets of a mode's network.
func subnets(number, host int) []netip.Prefix {
	return []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(200 + number), byte(host), 0}), 24),
		netip.PrefixFrom(netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x99, 2: byte(200 + number), 3: byte(host)}), 64)}
}

// shareSubnets gives a network subnets that both hosts share, with the address of the
// lab's switch in them as the gateway, and a quarter of the addresses to each
// host; the first quarter has the lab hosts' own.
func shareSubnets(n *heddle.Network, shared []netip.Prefix, host int) {
	four, six := shared[0].Addr().As4(), shared[1].Addr().As16()
	gateway4, gateway6 := four, six
	gateway4[3], gateway6[15] = 1, 1
	n.Subnets, n.Gateways = shared, []netip.Addr{netip.AddrFrom4(gateway4), netip.AddrFrom16(gateway6)}
	four[3], six[13] = byte(64*(1+host)), byte(1+host)
	n.Ranges = []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4(four), 26), netip.PrefixFrom(netip.AddrFrom16(six), 112)}
}

// macvlanParent is the last spare NIC, if ipvlan is measured too: an interface carries
// devices of one kind only. Mode direct uses the other spare ones.
func (r *Rig) macvlanParent(s *testLab) string { return lab.NICName(s.lab.Topology.Hosts[0].Spare) }

// addRoutes adds to each host the routes to the other host's routed containers.
func (r *Rig) addRoutes(ctx context.Context, s *testLab, number int, mode string) error {
	if baseMode(mode) != modeRouted || r.plugs(mode) {
		return nil
	}
	for host := range s.agents {
		other := 1 - host
		for _, subnet := range r.network(s, number, other, mode).Subnets {
			via := s.lab.Hosts[other].Addr4
			if subnet.Addr().Is6() {
				via = s.lab.Hosts[other].Addr6
			}
			if err := ipOn(ctx, s.lab.Hosts[host], "route", "add", subnet.String(), "via", via.String()); err != nil {
				return err
			}
		}
	}
	return nil
}

// ipOn runs ip(8) on a lab host.
func ipOn(ctx context.Context, h *lab.Host, args ...string) error {
	cmd, err := h.Command(ctx, append([]string{"ip"}, args...)...)
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return heddle.Wrap(heddle.BenchFailed, "run ip "+strings.Join(args, " ")+" on lab host", h.Name,
			fmt.Errorf("%w: %s", err, out), retryRemedy)
	}
	return nil
}

// The wires between lab hosts, by the names of --wire.
const (
	// Intact passes TCP segments on as they are.
	Intact = "intact"

	wireCut    = "cut"
	wireMerged = "merged"
	wireJumbo  = "jumbo"
)

// shapedNote says how a wire gets its rate.
const shapedNote = "each way (tbf: 10 ms of it may pass at once, 50 ms may wait) at both ends, of a moved NIC's wire at the switch only; segments intact: modes that reach this rate compare by the CPU they need for it"

func knownWires() []bench.Wire {
	return []bench.Wire{
		{Name: Intact, Note: "a veth hands TCP's segments of up to 64 KiB on uncut: a test of copying memory"},
		{Name: wireCut, Note: "tso, gso and gro are off at both ends: each frame of the MTU crosses by itself, as on a cable (its checksum is left out)"},
		{Name: wireMerged, Note: "as cut, but hosts merge what arrives (gro), as the drivers of network cards do"},
		{Name: wireJumbo, MTU: 9000, Note: "as cut, with frames of 9,000 bytes"},
		{Name: "1g", Rate: 1e9, Note: "1 Gbit/s " + shapedNote},
		{Name: "10g", Rate: 10e9, Note: "10 Gbit/s " + shapedNote},
	}
}

// WiresNamed selects from knownWires. The plain wire has no name in a report.
func WiresNamed(names []string) (all []bench.Wire, err error) {
	seen := map[string]bool{}
	for _, name := range names {
		found := false
		for _, w := range knownWires() {
			if w.Name == name {
				found = true
				if name == Intact {
					w.Name = ""
				}
				all = append(all, w)
			}
		}
		if !found || seen[name] {
			return nil, heddle.Errorf(heddle.BadArgument, "read flag", "--wire",
				fmt.Sprintf("%q is not a wire, or is given twice", name), "give intact, cut, merged, jumbo, 1g or 10g, each once")
		}
		seen[name] = true
	}
	if all == nil {
		return nil, heddle.Errorf(heddle.BadArgument, "read flag", "--wire", "the value is empty", "name one wire at least")
	}
	return all, nil
}

func wireLabel(w bench.Wire) string {
	if w.Name == "" {
		return Intact
	}
	return w.Name
}
