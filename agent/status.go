package agent

import (
	"fmt"
	"os"
	"sort"
	"time"

	"github.com/heddle-network/heddle"
)

// Status is the agent's health on one screen. It reads the tables in memory and
// a handful of counters, never all endpoints' objects.
func (a *Agent) Status() heddle.Status {
	s := heddle.Status{Host: a.host().Name, Version: heddle.Version, Kernel: a.host().Kernel, BootID: a.host().BootID,
		UpSeconds: int64(time.Since(a.started).Seconds()), Ready: a.ready.Load(), Repairs: a.repairs.Load()}
	s.Parts = append(s.Parts, a.agentPart(), a.ledgerPart(), a.firewallPart(&s))
	s.Parts = append(s.Parts, a.clusterParts()...)
	a.mu.RLock()
	defer a.mu.RUnlock()
	s.Endpoints = len(a.endpoints)
	counts := map[string]int{}
	for _, r := range a.endpoints {
		counts[r.Endpoint.Network]++
	}
	for _, n := range a.networks {
		s.Networks = append(s.Networks, heddle.NetworkStatus{Name: n.Name, Mode: n.Mode, Endpoints: counts[n.ID], Free: n.free()})
	}
	sort.Slice(s.Networks, func(i, j int) bool { return s.Networks[i].Name < s.Networks[j].Name })
	s.Parts = append(s.Parts, a.networksPart(s.Networks), a.pendingPart())
	return s
}

// free is the number of addresses left in the scarcest family, -1 without any.
func (n *network) free() int64 {
	free := int64(-1)
	if n.pool == nil {
		return free
	}
	const most = 1 << 53
	for _, st := range n.pool.Stats() {
		left := int64(min(st.Free, most))
		if free < 0 || left < free {
			free = left
		}
	}
	return free
}

func (a *Agent) agentPart() heddle.PartStatus {
	if !a.ready.Load() {
		return heddle.PartStatus{Name: "agent", State: "bad", Detail: "not ready"}
	}
	return heddle.PartStatus{Name: "agent", State: "ok", Detail: "ready"}
}

func (a *Agent) ledgerPart() heddle.PartStatus {
	for _, dir := range []string{a.opt.StateDir, a.opt.RunDir} {
		if _, err := os.Stat(dir); err != nil {
			return heddle.PartStatus{Name: "ledger", State: "bad", Detail: err.Error()}
		}
	}
	return heddle.PartStatus{Name: "ledger", State: "ok", Detail: a.opt.StateDir + ", " + a.opt.RunDir}
}

func (a *Agent) firewallPart(s *heddle.Status) heddle.PartStatus {
	drops, err := a.kernel.Drops()
	s.Drops = drops
	if err != nil {
		return heddle.PartStatus{Name: "firewall", State: "bad", Detail: err.Error()}
	}
	total := uint64(0)
	for _, n := range drops {
		total += n
	}
	state, detail := "ok", fmt.Sprintf("%d packets dropped", total)
	if repairs := a.repairs.Load(); repairs > 0 {
		state, detail = "warn", fmt.Sprintf("%s, %d objects put back", detail, repairs)
	}
	return heddle.PartStatus{Name: "firewall", State: state, Detail: detail}
}

func (a *Agent) networksPart(all []heddle.NetworkStatus) heddle.PartStatus {
	for _, n := range all {
		if n.Free == 0 {
			return heddle.PartStatus{Name: "networks", State: "warn", Detail: "no address left on " + n.Name}
		}
	}
	return heddle.PartStatus{Name: "networks", State: "ok", Detail: fmt.Sprint(len(all))}
}

func (a *Agent) pendingPart() heddle.PartStatus {
	if n := len(a.pending); n > 0 {
		return heddle.PartStatus{Name: "endpoints", State: "warn", Detail: fmt.Sprintf("%d, %d of them being made or removed", len(a.endpoints), n)}
	}
	return heddle.PartStatus{Name: "endpoints", State: "ok", Detail: fmt.Sprint(len(a.endpoints))}
}
