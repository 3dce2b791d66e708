package commands

import (
	"fmt"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// Removal returns the commands that remove the plan's objects, in the order in which package kernel
// removes them. Keep reports which of them other plans want. What is on a link that goes is left out,
// for it goes with the link; so are settings, which stay.
func Removal(p heddle.Plan, pod string, keep func(key string) bool) []string {
	none := func(string) bool { return false } // a container's objects are in one plan
	if keep == nil {
		keep = none
	}
	host := remover{writer{podNetns: pod, plan: p}, keep, map[string]bool{}}
	inPod := remover{writer{pod: pod, podNetns: pod, plan: p}, none, map[string]bool{}}
	findDying(host, inPod)
	var out []string
	for phase := heddle.FastPath; phase >= heddle.Frame; phase-- {
		out = append(out, inPod.phase(phase, p.Pod)...)
		out = append(out, host.phase(phase, p.Host)...)
	}
	return out
}

// remover writes commands that remove what is in one namespace.
type remover struct {
	writer
	keep func(key string) bool
	// dying are the links that go. Those that go as the far end of another have the value false.
	dying map[string]bool
}

func findDying(host, pod remover) {
	for _, n := range pod.plan.Pod.NICs {
		pod.dying[n.IfName] = false // it leaves
	}
	for _, l := range pod.plan.Pod.Links {
		if l.Parent != "" {
			pod.dying[l.Name] = true
		}
	}
	for _, l := range host.plan.Host.Links {
		if l.Kind == "" || host.keep(l.Key()) {
			continue
		}
		if _, far := host.dying[l.Name]; !far {
			host.dying[l.Name] = true
		}
		switch {
		case l.Peer != "" && l.PeerInPod:
			pod.dying[l.Peer] = false
		case l.Peer != "":
			host.dying[l.Peer] = false
		}
	}
}

// phase removes the objects of the state that belong to the phase, the last first.
func (r remover) phase(phase heddle.Phase, s heddle.State) []string {
	var out []string
	for _, k := range slices.Backward(heddle.ObjectKinds) {
		if k.Phase == phase && k.Count(&s) > 0 {
			out = append(out, removers[k.Name](r, s)...)
		}
	}
	return out
}

// removers remove the objects of each kind. The keys are the names of the kinds.
var removers = map[string]func(remover, heddle.State) []string{
	"firewall":   func(r remover, s heddle.State) []string { return r.firewall(s.Firewall) },
	"links":      func(r remover, s heddle.State) []string { return undo(r, s.Links, nowhere, r.link) },
	"nics":       func(r remover, s heddle.State) []string { return undo(r, s.NICs, nowhere, r.nic) },
	"sysctls":    func(remover, heddle.State) []string { return nil },
	"elements":   func(r remover, s heddle.State) []string { return undo(r, s.Elements, nowhere, r.element) },
	"buckets":    func(r remover, s heddle.State) []string { return undo(r, s.Buckets, linkOfBucket, r.bucket) },
	"diverts":    func(r remover, s heddle.State) []string { return undo(r, s.Diverts, linkOfDivert, r.divert) },
	"forwards":   func(r remover, s heddle.State) []string { return undo(r, s.Forwards, linkOfForward, r.forward) },
	"addresses":  func(r remover, s heddle.State) []string { return undo(r, s.Addresses, linkOfAddress, r.address) },
	"neighbours": func(r remover, s heddle.State) []string { return undo(r, s.Neighbours, linkOfNeighbour, r.neighbour) },
	"routes":     func(r remover, s heddle.State) []string { return undo(r, s.Routes, linkOfRoute, r.route) },
	"rules":      func(r remover, s heddle.State) []string { return undo(r, s.Rules, nowhere, r.rule) },
	"proxies":    func(r remover, s heddle.State) []string { return undo(r, s.Proxies, linkOfProxy, r.proxy) },
	"redirects":  func(r remover, s heddle.State) []string { return undo(r, s.Redirects, nowhere, r.redirect) },
	"remotes":    func(r remover, s heddle.State) []string { return undo(r, s.Remotes, nowhere, r.remote) },
	"shortcuts":  func(r remover, s heddle.State) []string { return undo(r, s.Shortcuts, nowhere, r.shortcut) },
	"programs":   func(r remover, s heddle.State) []string { return undo(r, s.Programs, linkOfProgram, r.program) },
}

// undo writes the removal of objects, the last first, without those that other plans want or that
// go with a link.
func undo[T heddle.Object](r remover, all []T, link func(T) string, write func(T) string) []string {
	var out []string
	for _, x := range slices.Backward(all) {
		if _, dying := r.dying[link(x)]; dying || r.keep(x.Key()) {
			continue
		}
		if line := write(x); line != "" {
			out = append(out, line)
		}
	}
	return out
}

func nowhere[T heddle.Object](T) string { return "" }

func linkOfBucket(x heddle.Bucket) string       { return x.Link }
func linkOfDivert(x heddle.Divert) string       { return x.Link }
func linkOfForward(x heddle.Forward) string     { return x.Link }
func linkOfAddress(x heddle.Address) string     { return x.Link }
func linkOfNeighbour(x heddle.Neighbour) string { return x.Link }
func linkOfRoute(x heddle.Route) string         { return x.Link }
func linkOfProxy(x heddle.Proxy) string         { return x.Link }
func linkOfProgram(x heddle.Program) string     { return x.Link }

// firewall writes one nft transaction. What is in a table goes with it.
func (r remover) firewall(objects []heddle.Firewall) []string {
	var gone []heddle.Firewall
	whole := map[string]bool{}
	for _, f := range objects {
		if f.Kind == "table" && !r.keep(f.Key()) {
			whole[f.Family] = true
		}
	}
	for _, f := range objects {
		if !r.keep(f.Key()) && (f.Kind == "table" || !whole[f.Family]) {
			gone = append(gone, f)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return []string{"nft -f - <<'EOF'\n" + firewall.Removal(gone) + "EOF"}
}

func (r remover) link(l heddle.Link) string {
	if !r.dying[l.Name] {
		return ""
	}
	return r.ip("link del %s", l.Name)
}

// nic writes the way home of a NIC, to the namespace of the shell.
func (r remover) nic(n heddle.NIC) string {
	if d := n.Device; d != nil {
		return fmt.Sprintf("echo >%s/%s/driver_override\necho %s >%s/%s/driver/unbind\necho %s >%s", devices, d.Address, d.Address, devices, d.Address, d.Address, probe)
	}
	line := r.ip("link set %s down", n.IfName) + "\n" +
		r.ip("link set %s netns /proc/$$/ns/net name %s", n.IfName, n.Name) + "\n" +
		writer{}.ip("link set %s alias ''", n.Name)
	if n.Was.Up {
		line += "\n" + writer{}.ip("link set %s up", n.Name)
	}
	return line + fmt.Sprintf("\n# and %s has its addresses, routes and settings again, as they were", n.Name)
}

func (r remover) element(e heddle.Element) string { return "nft " + firewall.DeleteElement(e) }

func (r remover) forward(f heddle.Forward) string {
	where := "master"
	if f.Dst.IsValid() {
		where = "self dst " + f.Dst.String()
	}
	return r.command("bridge", "fdb del %s dev %s %s", f.MAC, f.Link, where)
}

func (r remover) address(a heddle.Address) string {
	return r.ip("address del %s dev %s", a.Prefix, a.Link)
}

func (r remover) neighbour(n heddle.Neighbour) string {
	return r.ip("neighbour del %s dev %s", n.Addr, n.Link)
}

func (r remover) route(x heddle.Route) string {
	return r.ip("%sroute del %s", ipFlag(heddle.FamilyOf(x.Dst.Addr())), x)
}

func (r remover) rule(x heddle.Rule) string { return r.ip("%srule del %s", ipFlag(ruleFamily(x)), x) }

func (r remover) proxy(x heddle.Proxy) string {
	return r.ip("neighbour del proxy %s dev %s", x.Addr, x.Link)
}

// No command removes these, so they are printed as descriptions.
func (r remover) redirect(x heddle.Redirect) string {
	return fmt.Sprintf("# what goes to %s by %s arrives on %s no more", x.Prefix, x.Link, x.To)
}

func (r remover) remote(x heddle.Remote) string {
	return fmt.Sprintf("# fast path: peer %s is forgotten", x.Addr)
}

func (r remover) shortcut(x heddle.Shortcut) string {
	return fmt.Sprintf("# fast path: %s is forgotten", x.Prefix)
}

func (r remover) program(x heddle.Program) string {
	return fmt.Sprintf("# fast path: the program on the ingress of %s goes", x.Link)
}
