// Package commands writes plans as ip, bridge, nft, sysctl and tc commands that a person
// could type.
package commands

import (
	"fmt"
	"strings"

	"github.com/heddle-network/heddle"
)

// Of returns the plan as commands, in the order in which package kernel makes the objects.
// Pod is the path or name of the container's network namespace, as for ip-netns(8).
func Of(p heddle.Plan, pod string) []string {
	p.Host, p.Pod = withoutSmallIPv6(p.Host), withoutSmallIPv6(p.Pod)
	host, inPod := writer{podNetns: pod, plan: p}, writer{pod: pod, podNetns: pod, plan: p}
	var out []string
	for phase := heddle.Frame; phase <= heddle.FastPath; phase++ {
		if phase == heddle.Layer3 {
			out = append(out, inPod.up(p.Pod.Links)...)
			out = append(out, host.up(p.Host.Links)...)
		}
		out = append(out, host.phase(phase, p.Host)...)
		out = append(out, inPod.phase(phase, p.Pod)...)
	}
	return out
}

// writers write the objects of each kind. The keys are the names of the kinds.
var writers = map[string]func(writer, heddle.State) []string{
	"firewall":   func(w writer, s heddle.State) []string { return w.firewall(s.Firewall) },
	"links":      func(w writer, s heddle.State) []string { return lines(s.Links, w.link) },
	"nics":       func(w writer, s heddle.State) []string { return lines(s.NICs, w.nic) },
	"sysctls":    func(w writer, s heddle.State) []string { return lines(s.Sysctls, w.sysctl) },
	"elements":   func(w writer, s heddle.State) []string { return lines(s.Elements, w.element) },
	"buckets":    func(w writer, s heddle.State) []string { return lines(s.Buckets, w.bucket) },
	"diverts":    func(w writer, s heddle.State) []string { return lines(s.Diverts, w.divert) },
	"forwards":   func(w writer, s heddle.State) []string { return lines(s.Forwards, w.forward) },
	"addresses":  func(w writer, s heddle.State) []string { return lines(s.Addresses, w.address) },
	"neighbours": func(w writer, s heddle.State) []string { return lines(s.Neighbours, w.neighbour) },
	"routes":     func(w writer, s heddle.State) []string { return lines(s.Routes, w.route) },
	"rules":      func(w writer, s heddle.State) []string { return lines(s.Rules, w.rule) },
	"proxies":    func(w writer, s heddle.State) []string { return lines(s.Proxies, w.proxy) },
	"redirects":  func(w writer, s heddle.State) []string { return w.redirects(s.Redirects) },
	"remotes":    func(w writer, s heddle.State) []string { return lines(s.Remotes, w.remote) },
	"shortcuts":  func(w writer, s heddle.State) []string { return lines(s.Shortcuts, w.shortcut) },
	"programs":   func(w writer, s heddle.State) []string { return lines(s.Programs, w.program) },
}

func lines[T heddle.Object](all []T, write func(T) []string) []string {
	var out []string
	for _, x := range all {
		out = append(out, write(x)...)
	}
	return out
}

// writer writes commands for the host, or for the namespace pod.
type writer struct {
	pod string
	// podNetns is the container's namespace, also of commands for the host; plan is all that
	// they make.
	podNetns string
	plan     heddle.Plan
}

// phase writes the objects of the state that belong to the phase.
func (w writer) phase(phase heddle.Phase, s heddle.State) []string {
	var out []string
	for _, k := range heddle.ObjectKinds {
		if k.Phase == phase && k.Count(&s) > 0 {
			out = append(out, writers[k.Name](w, s)...)
		}
	}
	return out
}

func (w writer) command(name, format string, args ...any) string {
	if w.pod != "" {
		name += " -n " + w.pod
	}
	return name + " " + fmt.Sprintf(format, args...)
}

func (w writer) ip(format string, args ...any) string { return w.command("ip", format, args...) }

// inNamespace runs a tool that has no option for the namespace.
func (w writer) inNamespace(line string) string {
	if w.pod == "" {
		return line
	}
	return "nsenter --net=" + netnsPath(w.pod) + " " + line
}

func netnsPath(pod string) string {
	if strings.Contains(pod, "/") {
		return pod
	}
	return "/run/netns/" + pod
}

func (w writer) up(links []heddle.Link) []string {
	var out []string
	for _, l := range links {
		if !l.Down {
			out = append(out, w.ip("link set %s up", l.Name))
		}
	}
	return out
}
