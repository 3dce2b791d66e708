package agent

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sort"
	"time"

	"github.com/heddle-network/heddle"
)

// Status is the agent's health on one screen. It reads the tables in memory and
// a handful of counters, never all endpoints' objects.
func (a *Agent) Status() heddle.Status {
	s := heddle.Status{Host: a.host().Name, Version: heddle.Version, Kernel: a.host().Kernel, BootID: a.host().BootID,
		UpSeconds: int64(time.Since(a.started).Seconds()), Ready: a.ready.Load(), Repairs: a.repairs.Load()}
	s.Parts = append(s.Parts, a.agentPart(), a.ledgerPart(), a.firewallPart(&s), a.stuckPart())
	s.Parts = append(s.Parts, a.fastPart(&s)...)
	s.Parts = append(s.Parts, a.clusterParts()...)
	s.Parts = append(s.Parts, a.others()...)
	quarantine := a.quarantinePart()
	s.Late = a.tasks.since(lateAfter, nil)
	s.Parts = append(s.Parts, workPart(s.Late))
	a.mu.RLock()
	defer a.mu.RUnlock()
	s.Endpoints = len(a.endpoints)
	counts := map[string]int{}
	for _, r := range a.endpoints {
		counts[r.Endpoint.Network]++
	}
	for _, n := range a.networks {
		s.Networks = append(s.Networks, heddle.NetworkStatus{Name: n.Name, Mode: n.Mode, Endpoints: counts[n.ID], Free: a.free(n)})
	}
	sort.Slice(s.Networks, func(i, j int) bool { return s.Networks[i].Name < s.Networks[j].Name })
	s.Parts = append(s.Parts, a.networksPart(s.Networks), a.pendingPart())
	s.Parts = append(s.Parts, quarantine...)
	return s
}

// Show adds somebody else's part to the status, such as a door's.
func (a *Agent) Show(part func() heddle.PartStatus) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shows = append(a.shows, part)
}

func (a *Agent) others() (all []heddle.PartStatus) {
	a.mu.RLock()
	shows := slices.Clone(a.shows)
	a.mu.RUnlock()
	for _, part := range shows {
		all = append(all, part())
	}
	return all
}

// free is the number of addresses left in the scarcest family, -1 without any; of
// a network of several hosts those in this host's blocks, and in free ones.
func (a *Agent) free(n *network) int64 {
	free := int64(-1)
	const most = 1 << 53
	for i, st := range n.pool.Stats() {
		left := int64(min(st.Free+a.unclaimed(n, n.Subnets[i]), most))
		if free < 0 || left < free {
			free = left
		}
	}
	return free
}

// unclaimed counts the addresses of a subnet that are in no host's block.
func (a *Agent) unclaimed(n *network, subnet netip.Prefix) uint64 {
	if !n.Shared || a.facts.Fabric == nil {
		return 0
	}
	bits := heddle.BlockBits(subnet)
	free := uint64(1) << min(32, bits-subnet.Bits())
	for _, b := range a.facts.Fabric.Blocks {
		if b.Network == n.ID && subnet.Contains(b.Prefix.Addr()) && free > 0 {
			free--
		}
	}
	return free << min(31, subnet.Addr().BitLen()-bits)
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
		return heddle.PartStatus{Name: heddle.PartEndpoints, State: "warn", Detail: fmt.Sprintf("%d, %d of them being made or removed", len(a.endpoints), n)}
	}
	return heddle.PartStatus{Name: heddle.PartEndpoints, State: "ok", Detail: fmt.Sprint(len(a.endpoints))}
}
