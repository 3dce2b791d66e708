// Package commands writes plans as ip, bridge, nft, sysctl and tc commands that a person
// could type.
package commands

import (
	"fmt"
	"strings"

	"github.com/heddle-network/heddle"
)

// Of prints the plan as commands a person could type, in the order in
// which package kernel makes the objects. Pod is the path or name of the
// container's network namespace, as ip-netns(8) takes it.
func Of(p heddle.Plan, pod string) []string {
	host, in := typist{to: pod, plan: p}, typist{pod: pod, to: pod, plan: p}
	var out []string
	for phase := heddle.Frame; phase <= heddle.FastPath; phase++ {
		if phase == heddle.Layer3 {
			out = append(out, in.up(p.Pod.Links)...)
			out = append(out, host.up(p.Host.Links)...)
		}
		out = append(out, host.phase(phase, p.Host)...)
		out = append(out, in.phase(phase, p.Pod)...)
	}
	return out
}

// texts write the objects of each kind, by the names of their lists.
var texts = map[string]func(typist, heddle.State) []string{
	"firewall":   func(t typist, s heddle.State) []string { return t.firewall(s.Firewall) },
	"links":      func(t typist, s heddle.State) []string { return lines(s.Links, t.link) },
	"nics":       func(t typist, s heddle.State) []string { return lines(s.NICs, t.nic) },
	"sysctls":    func(t typist, s heddle.State) []string { return lines(s.Sysctls, t.sysctl) },
	"elements":   func(t typist, s heddle.State) []string { return lines(s.Elements, t.element) },
	"forwards":   func(t typist, s heddle.State) []string { return lines(s.Forwards, t.forward) },
	"addresses":  func(t typist, s heddle.State) []string { return lines(s.Addresses, t.address) },
	"neighbours": func(t typist, s heddle.State) []string { return lines(s.Neighbours, t.neighbour) },
	"routes":     func(t typist, s heddle.State) []string { return lines(s.Routes, t.route) },
	"rules":      func(t typist, s heddle.State) []string { return lines(s.Rules, t.rule) },
	"redirects":  func(t typist, s heddle.State) []string { return t.redirects(s.Redirects) },
	"remotes":    func(t typist, s heddle.State) []string { return lines(s.Remotes, t.remote) },
	"shortcuts":  func(t typist, s heddle.State) []string { return lines(s.Shortcuts, t.shortcut) },
	"programs":   func(t typist, s heddle.State) []string { return lines(s.Programs, t.program) },
}

func lines[T heddle.Object](all []T, write func(T) []string) []string {
	var out []string
	for _, x := range all {
		out = append(out, write(x)...)
	}
	return out
}

// typist writes commands for the host, or for the namespace pod.
type typist struct {
	pod string
	// to is the container's namespace, whoever the commands are for; plan is all that
	// they make.
	to   string
	plan heddle.Plan
}

// phase writes the state's objects that are made in the phase.
func (t typist) phase(phase heddle.Phase, s heddle.State) []string {
	var out []string
	for _, k := range heddle.ObjectKinds {
		if k.Phase == phase && k.Count(&s) > 0 {
			out = append(out, texts[k.Name](t, s)...)
		}
	}
	return out
}

func (t typist) tool(name, format string, args ...any) string {
	if t.pod != "" {
		name += " -n " + t.pod
	}
	return name + " " + fmt.Sprintf(format, args...)
}

func (t typist) ip(format string, args ...any) string { return t.tool("ip", format, args...) }

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
