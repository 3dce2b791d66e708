package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/join"
	"github.com/heddle-network/heddle/store"
)

// hosts answers the calls about the hosts of the cluster.
type hosts struct{ *membership }

// List implements api.Hosts.
func (h hosts) List(ctx context.Context) []client.HostStatus {
	all := h.knownHosts()
	if h.node != nil {
		in, err := h.admissions(ctx)
		all = addAdmissions(all, in)
		if err != nil {
			markIncomplete(all, err)
		}
	}
	slices.SortFunc(all, func(a, b client.HostStatus) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// admissions returns the hosts that were let in. It does not ask a store that is known to be
// down.
func (h hosts) admissions(ctx context.Context) ([]join.Admission, error) {
	if health := h.cluster.Health(); health.State == "down" {
		return nil, errors.New(health.Detail)
	}
	return h.node.Admitted(ctx)
}

// markIncomplete adds to the asked host why the admissions are not known.
func markIncomplete(all []client.HostStatus, why error) {
	for i := range all {
		if all[i].Self {
			all[i].Incomplete = "who was let in could not be read: " + why.Error()
		}
	}
}

// knownHosts returns the hosts that have appeared. It asks no other host.
func (h hosts) knownHosts() []client.HostStatus {
	v := h.cluster.View()
	health := h.cluster.Health()
	roles := h.roles(health)
	var all []client.HostStatus
	for _, host := range append([]heddle.Host{v.Self}, v.Peers...) {
		s := client.HostStatus{Name: host.Name, ID: host.ID, Underlay: host.Underlay, MTU: host.MTU, Version: host.Version, Joined: host.Joined,
			Role: cmp.Or(roles[host.Name], "client"), State: "away", Self: host.Name == v.Self.Name, Refused: refusedBy(v, host.Name)}
		switch {
		case v.Revision == 0 || health.State == "down":
			s.State = "unknown"
		case v.Alive[host.Name]:
			s.State = "alive"
		}
		for _, b := range v.Blocks {
			if b.Host == host.ID {
				s.Blocks++
			}
		}
		all = append(all, s)
	}
	return append(all, refusedHosts(v, all)...)
}

// addAdmissions adds to each host how it was let in, and adds the hosts that have not appeared
// since.
func addAdmissions(all []client.HostStatus, in []join.Admission) []client.HostStatus {
	for _, a := range in {
		i := slices.IndexFunc(all, func(h client.HostStatus) bool { return h.Name == a.Name })
		if i < 0 {
			i, all = len(all), append(all, client.HostStatus{Name: a.Name, ID: a.ID, Underlay: a.Underlay, Role: "client", State: "absent"})
		}
		all[i].Admitted, all[i].Token, all[i].Key, all[i].May = a.At, a.Token, a.Key, a.May
	}
	for i, h := range all {
		if h.Role != "client" && !slices.Contains(h.May, join.Networks) { // it keeps the store
			all[i].May = append(slices.Clone(h.May), join.Networks)
		}
	}
	return all
}

// roles returns the roles of hosts in an embedded store, by name.
func (h hosts) roles(health store.Health) map[string]string {
	if h.node == nil {
		return nil
	}
	roles := h.node.Roles()
	for _, m := range health.Members {
		if _, keeps := roles[m.Name]; keeps && m.Role == "leader" {
			roles[m.Name] = m.Role
		}
	}
	return roles
}

// keepersPart is the status of the hosts that keep the store, with suggestions.
func (h hosts) keepersPart() heddle.PartStatus {
	all := h.knownHosts()
	if advice := client.AdviceOnKeepers(all); advice != "" {
		return heddle.PartStatus{Name: "keepers", State: "warn", Detail: advice}
	}
	var names []string
	for _, s := range all {
		if s.Role != "client" {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return heddle.PartStatus{Name: "keepers", State: "ok", Detail: strings.Join(names, ", ")}
}
