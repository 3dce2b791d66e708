package agent

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

// fastPart is the status of the fast path, if a plan of this host uses it.
func (a *Agent) fastPart(s *heddle.Status) []heddle.PartStatus {
	if !a.plans.usesFastPath() {
		return nil
	}
	part := heddle.PartStatus{Name: "fast path", State: "ok"}
	c, err := a.kernel.FastTotals()
	if err != nil {
		part.Detail = "not used: " + err.Error()
		return []heddle.PartStatus{part}
	}
	s.Fast = &c
	part.Detail = fmt.Sprintf("%s carried, %d left to the host's stack", heddle.Count(c.Carried(), "packet"), c.Left())
	if n := a.securedPeers(); n > 0 {
		part.Detail += "; IPsec looks after the way to " + heddle.Count(n, "host") + ", which it leaves alone"
	}
	return []heddle.PartStatus{part}
}

// securedPeers counts the hosts whose tunnels the fast path leaves to the host's stack, because of
// IPsec.
func (a *Agent) securedPeers() (n int) {
	host := a.host.now()
	if host.Fabric == nil {
		return 0
	}
	for _, p := range host.Fabric.Peers {
		if host.Secures(p) {
			n++
		}
	}
	return n
}

// withCounts adds what the fast path did for an endpoint.
func (a *Agent) withCounts(r record) heddle.Endpoint {
	e := r.withPort()
	if len(r.Plan.Host.Programs) == 0 {
		return e
	}
	if c, err := a.kernel.FastCounts(e.Port); err == nil {
		e.Fast = &c
	}
	return e
}
