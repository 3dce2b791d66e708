// Package commands writes plans as ip, bridge, nft, sysctl and tc commands that a person
// could type.
package commands

import (
	"fmt"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// Of prints the plan as commands a person could type, in the order in
// which package kernel makes the objects. Pod is the path or name of the
// container's network namespace, as ip-netns(8) takes it.
func Of(p heddle.Plan, pod string) []string {
	host, in := typist{}, typist{pod: pod}
	out := host.firewall(p.Host.Firewall)
	for _, l := range p.Host.Links {
		out = append(out, host.link(l, p, pod)...)
	}
	for _, l := range p.Pod.Links {
		out = append(out, in.link(l, p, pod)...)
	}
	for _, n := range p.Pod.NICs {
		out = append(out, host.nic(n, pod)...)
	}
	out = append(out, host.beforeUp(p.Host)...)
	out = append(out, in.beforeUp(p.Pod)...)
	out = append(out, in.up(p.Pod.Links)...)
	out = append(out, host.up(p.Host.Links)...)
	out = append(out, host.layer3(p.Host)...)
	out = append(out, in.layer3(p.Pod)...)
	return append(out, fastPath(p.Host)...)
}

// fastPath tells what the fast path is given: no command does that.
func fastPath(s heddle.State) []string {
	var out []string
	for _, r := range s.Remotes {
		out = append(out, fmt.Sprintf("# fast path: peer %s by %s, MTU %d", r.Addr, r.Link, r.MTU))
	}
	for _, x := range s.Shortcuts {
		switch {
		case x.Link != "":
			out = append(out, fmt.Sprintf("# fast path: %s (%s) behind %s", x.Prefix, x.MAC, x.Link))
		case x.Peer.IsValid():
			out = append(out, fmt.Sprintf("# fast path: %s at peer %s", x.Prefix, x.Peer))
		default:
			out = append(out, fmt.Sprintf("# fast path: %s is left to the stack", x.Prefix))
		}
	}
	for _, p := range s.Programs {
		name := "from_port"
		if p.Wire != nil {
			name = "from_wire"
		}
		out = append(out, fmt.Sprintf("# fast path: program %s on the ingress of %s", name, p.Link))
	}
	return out
}

// typist writes commands for the host, or for the namespace pod.
type typist struct{ pod string }

func (t typist) tool(name, format string, args ...any) string {
	if t.pod != "" {
		name += " -n " + t.pod
	}
	return name + " " + fmt.Sprintf(format, args...)
}

func (t typist) ip(format string, args ...any) string { return t.tool("ip", format, args...) }

// beforeUp writes what must be there before the first packet can pass.
func (t typist) beforeUp(s heddle.State) []string {
	var out []string
	for _, c := range s.Sysctls {
		out = append(out, t.inside("sysctl -qw "+c.Name+"="+c.Value))
	}
	for _, e := range s.Elements {
		out = append(out, "nft "+firewall.AddElement(e))
	}
	for _, f := range s.Forwards {
		where := "master static"
		if f.Dst.IsValid() {
			where = "self permanent dst " + f.Dst.String()
		}
		out = append(out, t.tool("bridge", "fdb replace %s dev %s %s", f.MAC, f.Link, where))
	}
	return out
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

func (t typist) up(links []heddle.Link) []string {
	var out []string
	for _, l := range links {
		if !l.Down {
			out = append(out, t.ip("link set %s up", l.Name))
		}
	}
	return out
}

// firewall writes one atomic nft transaction as a here-document.
func (t typist) firewall(objects []heddle.Firewall) []string {
	if len(objects) == 0 {
		return nil
	}
	return []string{"nft -f - <<'EOF'\n" + firewall.Ruleset(objects) + "EOF"}
}
