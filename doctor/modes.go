package doctor

import (
	"context"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/trial"
)

// baseline are the modes that should work on every host. Another mode that does not work is a
// fault only if a network uses it.
var baseline = []string{"bridge", "routed"}

// modeChecks returns a check for each mode, which tries the mode.
func modeChecks(modes []heddle.Mode) (all []Check) {
	for _, m := range modes {
		all = append(all, Check{ID: "mode-" + m.Name(), Title: "Mode " + m.Name() + " works on this kernel",
			Wrong: "Mode " + m.Name() + " does not work on this kernel", Severity: Fail,
			Looks:  "the plans of a sample network and endpoint, made on a throw-away host with its own namespaces, compared and removed; with both families, and where that fails with each alone",
			Why:    "A network of this mode is refused at its creation. For a mode that no network has, other than bridge and routed, this is a note.",
			Remedy: "modprobe MODULE (bridge, veth, nf_tables, nft_chain_nat, macvlan, ipvlan), or choose another mode",
			look:   func(ctx context.Context, h *Host) Finding { return h.lookMode(ctx, m) }})
	}
	return all
}

func (h *Host) lookMode(ctx context.Context, m heddle.Mode) Finding {
	if s, shares := m.(heddle.HostNamespace); shares && !s.NeedsNamespace() {
		return fine("it makes nothing")
	}
	wanted := trial.Case{Mode: m.Name(), IPv4: true, IPv6: true}
	err := trial.Run(m, wanted)
	if err == nil {
		return fine("tried with " + wanted.Families() + ": made, compared, removed")
	}
	best, found := trial.Best(wanted, h.modeNames(), func(c trial.Case) bool {
		other, known := h.mode(c.Mode)
		return known && trial.Run(other, c) == nil
	})
	f := trouble([]string{"tried with " + wanted.Families() + ": " + err.Error()}, trial.Advice(wanted, best, found))
	if !h.expects(ctx, m.Name()) {
		f.State = Note
	}
	return f
}

// modeNames are those of modes that a user chooses from, as the agent lists them.
func (h *Host) modeNames() (names []string) {
	for _, m := range h.Modes {
		if _, endless := m.(heddle.Endless); !endless {
			names = append(names, m.Name())
		}
	}
	return names
}

// expects reports whether the mode must work here.
func (h *Host) expects(ctx context.Context, mode string) bool {
	networks, _ := h.Networks(ctx)
	used := func(n heddle.Network) bool { return n.Mode == mode }
	return slices.Contains(baseline, mode) || slices.ContainsFunc(networks, used)
}
