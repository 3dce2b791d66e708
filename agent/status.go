package agent

import (
	"fmt"
	"os"
	"slices"
	"sort"
	"time"

	"github.com/heddle-network/heddle"
)

// Status is the agent's health on one screen. It reads the tables in memory and
// a handful of counters, never all endpoints' objects.
func (a *Agent) Status() heddle.Status {
	host := a.host.now()
	s := heddle.Status{Host: host.Name, Version: heddle.Version, Kernel: host.Kernel, BootID: host.BootID,
		UpSeconds: int64(time.Since(a.started).Seconds()), Ready: a.ready.Load(), Repairs: a.repairer.repaired.Load()}
	s.Parts = append(s.Parts, a.agentPart(), a.ledgerPart(), a.firewallPart(&s), a.problems.repairPart(append(a.defaults.told(), a.leaselessNow()...)))
	s.Parts = append(s.Parts, a.policies.refusedParts()...)
	s.Parts = append(s.Parts, a.fastPart(&s)...)
	s.Parts = append(s.Parts, a.clusterParts()...)
	s.Parts = append(s.Parts, a.namesPart())
	s.Parts, s.NICSlots = append(s.Parts, a.plugs.parts()...), a.plugs.slots()
	s.Parts = append(s.Parts, a.shows.parts()...)
	quarantine := a.quarantine.parts()
	s.Late = a.tasks.olderThan(lateAfter, nil)
	s.Parts = append(s.Parts, workPart(s.Late))
	var pending int
	s.Endpoints, pending = a.records.sizes()
	counts := map[string]int{}
	a.records.each(func(r record, _ string) { counts[r.Endpoint.Network]++ })
	for _, n := range a.networks.copies() {
		s.Networks = append(s.Networks, heddle.NetworkStatus{Name: n.Name, Mode: n.Mode, Endpoints: counts[n.ID], Free: n.free(host), NICs: a.plugs.poolStatus(n.ID)})
	}
	sort.Slice(s.Networks, func(i, j int) bool { return s.Networks[i].Name < s.Networks[j].Name })
	s.Parts = append(s.Parts, networksPart(s.Networks), pendingPart(s.Endpoints, pending))
	s.Parts = append(s.Parts, quarantine...)
	return s
}

// Show adds somebody else's part to the status, such as a door's. A part without a name is left out.
func (a *Agent) Show(part func() heddle.PartStatus) {
	a.shows.add(part)
}

// free is the number of addresses left in the scarcest family, -1 without any. For a shared
// network it counts the addresses in this host's blocks and in free blocks.
func (n *network) free(h heddle.HostFacts) int64 {
	free := int64(-1)
	const most = 1 << 53
	for i, st := range n.pool.Stats() {
		left := int64(min(st.Free+unclaimed(h, n, n.Subnets[i]), most))
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
	state, detail := "ok", heddle.Count(total, "packet")+" dropped"
	if repairs := a.repairer.repaired.Load(); repairs > 0 {
		state, detail = "warn", fmt.Sprintf("%s, %s put back", detail, heddle.Count(repairs, "object"))
	}
	return heddle.PartStatus{Name: "firewall", State: state, Detail: detail}
}

func networksPart(all []heddle.NetworkStatus) heddle.PartStatus {
	for _, n := range all {
		if n.Free == 0 {
			return heddle.PartStatus{Name: "networks", State: "warn", Detail: "no address left on " + n.Name}
		}
	}
	return heddle.PartStatus{Name: "networks", State: "ok", Detail: fmt.Sprint(len(all))}
}

func pendingPart(all, pending int) heddle.PartStatus {
	if pending > 0 {
		return heddle.PartStatus{Name: heddle.PartEndpoints, State: "warn", Detail: fmt.Sprintf("%d, %d of them being made or removed", all, pending)}
	}
	return heddle.PartStatus{Name: heddle.PartEndpoints, State: "ok", Detail: fmt.Sprint(all)}
}

// shows are the parts of the status that others know about.
type shows struct {
	mu  rwMutex[atStatusParts]
	all []func() heddle.PartStatus
}

func (s *shows) add(part func() heddle.PartStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, part)
}

func (s *shows) parts() (all []heddle.PartStatus) {
	s.mu.RLock()
	shows := slices.Clone(s.all)
	s.mu.RUnlock()
	for _, part := range shows {
		if p := part(); p.Name != "" {
			all = append(all, p)
		}
	}
	return all
}
