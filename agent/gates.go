package agent

import "log/slog"

// gates are other firewalls' chains, through which our traffic is let. What is there is
// its state.
type gates struct {
	Gates
	log      *slog.Logger
	networks *register
}

// open is admit, of which a failure is only told.
func (g *gates) open() {
	if err := g.admit(); err != nil {
		g.log.Error("other firewalls not opened for our traffic", "error", err)
	}
}

// admit lets our traffic through other firewalls' forward chains, while there
// is a network.
func (g *gates) admit() error {
	if g.networks.none() {
		return nil
	}
	changed, err := g.Admit()
	if len(changed) > 0 {
		g.log.Info("opened other firewalls' forward chains for our traffic", "chains", changed)
	}
	return err
}
