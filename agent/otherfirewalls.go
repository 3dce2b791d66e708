package agent

import "log/slog"

// otherFirewalls opens the chains of other firewalls for our traffic. Its only state is in the
// kernel.
type otherFirewalls struct {
	Firewalls
	log      *slog.Logger
	networks *register
}

// open calls admit, and logs a failure.
func (g *otherFirewalls) open() {
	if err := g.admit(); err != nil {
		g.log.Error("other firewalls not opened for our traffic", "error", err)
	}
}

// admit lets our traffic through other firewalls' forward chains, while there
// is a network.
func (g *otherFirewalls) admit() error {
	if g.networks.none() {
		return nil
	}
	changed, err := g.Admit()
	if len(changed) > 0 {
		g.log.Info("opened other firewalls' forward chains for our traffic", "chains", changed)
	}
	return err
}
