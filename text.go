package heddle

import (
	"fmt"
	"strings"
)

// Commands prints the plan as commands a person could type, in the order in
// which package kernel makes the objects. Pod is the path or name of the
// container's network namespace, as ip-netns(8) takes it.
func (p Plan) Commands(pod string) []string {
	host, in := typist{to: pod, plan: p}, typist{pod: pod, to: pod, plan: p}
	var out []string
	for phase := Frame; phase <= FastPath; phase++ {
		if phase == Layer3 {
			out = append(out, in.up(p.Pod.Links)...)
			out = append(out, host.up(p.Host.Links)...)
		}
		out = append(out, host.phase(phase, p.Host)...)
		out = append(out, in.phase(phase, p.Pod)...)
	}
	return out
}

// phase writes the state's objects that are made in the phase.
func (t typist) phase(phase Phase, s State) []string {
	var out []string
	for _, k := range ObjectKinds {
		if k.Phase == phase && k.Count(&s) > 0 {
			out = append(out, texts[k.Name](t, s)...)
		}
	}
	return out
}

// texts write the objects of each kind, by the names of their lists.
var texts = map[string]func(typist, State) []string{
	"firewall":   func(t typist, s State) []string { return t.firewall(s.Firewall) },
	"links":      func(t typist, s State) []string { return lines(s.Links, t.link) },
	"nics":       func(t typist, s State) []string { return lines(s.NICs, t.nic) },
	"sysctls":    func(t typist, s State) []string { return lines(s.Sysctls, t.sysctl) },
	"elements":   func(t typist, s State) []string { return lines(s.Elements, t.element) },
	"forwards":   func(t typist, s State) []string { return lines(s.Forwards, t.forward) },
	"addresses":  func(t typist, s State) []string { return lines(s.Addresses, t.address) },
	"neighbours": func(t typist, s State) []string { return lines(s.Neighbours, t.neighbour) },
	"routes":     func(t typist, s State) []string { return lines(s.Routes, t.route) },
	"rules":      func(t typist, s State) []string { return lines(s.Rules, t.rule) },
	"redirects":  func(t typist, s State) []string { return t.redirects(s.Redirects) },
	"remotes":    func(t typist, s State) []string { return lines(s.Remotes, t.remote) },
	"shortcuts":  func(t typist, s State) []string { return lines(s.Shortcuts, t.shortcut) },
	"programs":   func(t typist, s State) []string { return lines(s.Programs, t.program) },
}

func lines[T Object](all []T, write func(T) []string) []string {
	var out []string
	for _, x := range all {
		out = append(out, write(x)...)
	}
	return out
}

// What the fast path is given is told: no command does that.
func (t typist) remote(r Remote) []string {
	return []string{fmt.Sprintf("# fast path: peer %s by %s, MTU %d", r.Addr, r.Link, r.MTU)}
}

func (t typist) shortcut(x Shortcut) []string {
	switch {
	case x.Link != "":
		return []string{fmt.Sprintf("# fast path: %s (%s) behind %s", x.Prefix, x.MAC, x.Link)}
	case x.Peer.IsValid():
		return []string{fmt.Sprintf("# fast path: %s at peer %s", x.Prefix, x.Peer)}
	}
	return []string{fmt.Sprintf("# fast path: %s is left to the stack", x.Prefix)}
}

func (t typist) program(p Program) []string {
	name := "from_port"
	if p.Wire != nil {
		name = "from_wire"
	}
	return []string{fmt.Sprintf("# fast path: program %s on the ingress of %s", name, p.Link)}
}

// typist writes commands for the host, or for the namespace pod.
type typist struct {
	pod string
	// to is the container's namespace, whoever the commands are for; plan is all that
	// they make.
	to   string
	plan Plan
}

func (t typist) tool(name, format string, args ...any) string {
	if t.pod != "" {
		name += " -n " + t.pod
	}
	return name + " " + fmt.Sprintf(format, args...)
}

func (t typist) ip(format string, args ...any) string { return t.tool("ip", format, args...) }

func (t typist) link(l Link) []string {
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
		out = append(out, t.ip("link add %s%s type vxlan %s", l.Name, attributes(l), l.Tunnel))
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
func (t typist) nic(n NIC) []string {
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

func attributes(l Link) string {
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
func peerText(l Link, p Plan, pod string) string {
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

func (t typist) sysctl(c Sysctl) []string {
	return []string{t.inside("sysctl -qw " + c.Name + "=" + c.Value)}
}

func (t typist) element(e Element) []string { return []string{"nft " + e.command("add")} }

func (t typist) forward(f Forward) []string {
	where := "master static"
	if f.Dst.IsValid() {
		where = "self permanent dst " + f.Dst.String()
	}
	return []string{t.tool("bridge", "fdb replace %s dev %s %s", f.MAC, f.Link, where)}
}

// inside is for tools that do not enter namespaces by themselves.
func (t typist) inside(line string) string {
	if t.pod == "" {
		return line
	}
	return "nsenter --net=" + netnsPath(t.pod) + " " + line
}

func netnsPath(pod string) string {
	if strings.Contains(pod, "/") {
		return pod
	}
	return "/run/netns/" + pod
}

func (t typist) up(links []Link) []string {
	var out []string
	for _, l := range links {
		if !l.Down {
			out = append(out, t.ip("link set %s up", l.Name))
		}
	}
	return out
}

func (t typist) address(a Address) []string {
	how := ""
	switch {
	case a.Prefix.Addr().Is6():
		how = " nodad"
	case a.HostScope:
		how = " scope host"
	}
	return []string{t.ip("address add %s dev %s%s", a.Prefix, a.Link, how)}
}

func (t typist) neighbour(n Neighbour) []string {
	return []string{t.ip("neighbour replace %s lladdr %s dev %s nud permanent", n.Addr, n.MAC, n.Link)}
}

func (t typist) route(r Route) []string {
	return []string{t.ip("%sroute add %s", ipFlag(FamilyOf(r.Dst.Addr())), r.String())}
}

func (t typist) rule(r Rule) []string {
	return []string{t.ip("%srule add %s", ipFlag(r.family()), r.String())}
}

// ipFlag has ip(8) take what is said as of the family.
func ipFlag(f Family) string {
	if f == IPv6 {
		return "-6 "
	}
	return ""
}

// String writes the route as ip-route(8) takes it.
func (r Route) String() string {
	s := r.Dst.String()
	if r.Type != "" {
		s = r.Type + " " + s
	}
	if r.Via.IsValid() && r.Via.Is6() && r.Dst.Addr().Is4() {
		s += " via inet6 " + r.Via.String()
	} else if r.Via.IsValid() {
		s += " via " + r.Via.String()
	}
	if r.Link != "" {
		s += " dev " + r.Link
	}
	if r.OnLink {
		s += " onlink"
	}
	if r.Src.IsValid() {
		s += " src " + r.Src.String()
	}
	if r.Table != 0 {
		s += fmt.Sprintf(" table %d", r.Table)
	}
	if r.Metric != 0 {
		s += fmt.Sprintf(" metric %d", r.Metric)
	}
	if r.MTU != 0 {
		s += fmt.Sprintf(" mtu %d", r.MTU)
	}
	return s + fmt.Sprintf(" proto %d", RouteProtocol)
}

// String writes the tunnel as ip-link(8) takes it.
func (t Tunnel) String() string {
	checksums := "noudpcsum"
	if t.Local.Is6() {
		checksums = "udp6zerocsumtx udp6zerocsumrx"
	}
	return fmt.Sprintf("id %d local %s srcport %d %d dstport %d nolearning %s", t.VNI, t.Local, TunnelSourceLow, TunnelSourceEnd, t.Port, checksums)
}

func (r Rule) family() Family {
	if r.From.IsValid() {
		return FamilyOf(r.From.Addr())
	}
	return FamilyOf(r.To.Addr())
}

// String writes the rule as ip-rule(8) takes it.
func (r Rule) String() string {
	s := fmt.Sprintf("priority %d", r.Priority)
	if r.Iif != "" {
		s += " iif " + r.Iif
	}
	if r.From.IsValid() {
		s += " from " + r.From.String()
	}
	if r.To.IsValid() {
		s += " to " + r.To.String()
	}
	return s + fmt.Sprintf(" lookup %d protocol %d", r.Table, RouteProtocol)
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}
