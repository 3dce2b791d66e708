// Package trial finds out whether a mode, or the log of what is refused, works on this kernel by using it. It makes the plans
// of a sample network and endpoint on a throw-away host, compares and removes them. It does not
// trust version numbers, module lists or configuration files. A trial takes some tens of
// milliseconds. A mode that spans hosts is tried between two hosts, with packets, which takes
// some tenths of a second.
package trial

import (
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/mode/parts"
)

// Case is what is tried: a mode with one or both address families, or with none if the mode has
// no addresses.
type Case struct {
	Mode string
	IPv4 bool
	IPv6 bool
}

// CaseOf returns the case of a network.
func CaseOf(n heddle.Network) Case {
	return Case{n.Mode, n.HasFamily(heddle.IPv4), n.HasFamily(heddle.IPv6)}
}

// Families names the families: "IPv4 and IPv6".
func (c Case) Families() string {
	switch {
	case c.IPv4 && c.IPv6:
		return "IPv4 and IPv6"
	case c.IPv4:
		return "IPv4"
	case c.IPv6:
		return "IPv6"
	}
	return ""
}

// Run tries a mode, and returns the kernel's error.
func Run(m heddle.Mode, c Case) error {
	s := sampleFor(c)
	if s.network.Mode == "host" {
		return nil // nothing is made
	}
	if r, ok := m.(heddle.Reacher); ok {
		return trySpanning(m, r, c)
	}
	stage, err := kernel.NewStage()
	if err != nil {
		return err
	}
	defer stage.Close()
	if err := furnish(stage, s); err != nil {
		return err
	}
	plans, err := s.plans(stage, m)
	if err != nil {
		return err
	}
	return stage.Try(plans...)
}

// PacketLog tries what tells the agent of refused packets (firewall.RefusedTold), and returns the kernel's error.
func PacketLog() error {
	stage, err := kernel.NewStage()
	if err != nil {
		return err
	}
	defer stage.Close()
	return stage.Try(heddle.Plan{Host: heddle.State{Firewall: firewall.RefusedTold()}})
}

func furnish(stage *kernel.Stage, s sample) error {
	if err := stage.Wire(uplink, []string{"198.51.100.2/24", "2001:db8:1::2/64"}, []string{"198.51.100.1", "2001:db8:1::1"}); err != nil {
		return err
	}
	if s.nic == "" {
		return nil
	}
	return stage.Wire(s.nic, nil, nil)
}

func (s sample) plans(stage *kernel.Stage, m heddle.Mode) ([]heddle.Plan, error) {
	facts, err := stage.Facts()
	if err != nil {
		return nil, err
	}
	n, e := s.network, s.endpoint
	if err := m.Check(facts, n); err != nil {
		return nil, err
	}
	n.MTU = parts.ResolveMTU(facts, n)
	e.MTU = n.MTU
	if _, giver := m.(heddle.NICGiver); giver {
		nic, err := stage.Snapshot(s.nic)
		if err != nil {
			return nil, err
		}
		e.NIC, e.MAC = &nic, nic.MAC
	}
	network, err := m.Network(facts, n)
	if err != nil {
		return nil, err
	}
	endpoint, err := m.Endpoint(facts, n, e)
	return []heddle.Plan{network, endpoint}, err
}

// nearest lists, for a mode that does not work, the most similar modes, best first. Mode host
// is the last resort for all of them: it works everywhere and isolates nothing.
var nearest = map[string][]string{
	"overlay": {"routed", "bridge", "macvlan"},
	"bridge":  {"routed", "macvlan"},
	"routed":  {"bridge", "macvlan"},
	"macvlan": {"bridge", "routed"},
	"ipvlan":  {"routed", "macvlan", "bridge"},
	"direct":  {"macvlan", "routed", "bridge"},
}

// Best finds a case that works and is most similar to the refused one: another of the modes, or
// else a single family, or else mode host.
func Best(refused Case, modes []string, works func(Case) bool) (Case, bool) {
	var others []string
	for _, m := range nearest[refused.Mode] {
		if slices.Contains(modes, m) {
			others = append(others, m)
		}
	}
	var all []Case
	add := func(mode string, v4, v6 bool) {
		if c := (Case{mode, v4, v6}); c != refused && (v4 || v6) && (!v4 || refused.IPv4) && (!v6 || refused.IPv6) {
			all = append(all, c)
		}
	}
	for _, m := range others {
		add(m, refused.IPv4, refused.IPv6)
	}
	for _, m := range append([]string{refused.Mode}, others...) {
		add(m, true, false)
		add(m, false, true)
	}
	if slices.Contains(modes, "host") && refused.Mode != "host" {
		all = append(all, Case{Mode: "host"})
	}
	seen := map[Case]bool{}
	for _, c := range all {
		if !seen[c] && works(c) {
			return c, true
		}
		seen[c] = true
	}
	return Case{}, false
}

// Advice describes what Best has found.
func Advice(refused, best Case, found bool) string {
	switch {
	case !found:
		return "no other mode works here either"
	case best.Mode == "host":
		return "only mode host works here (--mode host), which isolates nothing"
	case best.Mode == refused.Mode:
		return "with " + best.Families() + " alone it works here; leave the other subnet out"
	case best.Families() == refused.Families():
		return "mode " + best.Mode + " works here (--mode " + best.Mode + ")"
	}
	return "mode " + best.Mode + " works here with " + best.Families() + " alone (--mode " + best.Mode + ")"
}
