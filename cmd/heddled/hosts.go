package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/join"
	"github.com/heddle-network/heddle/store"
)

// removalTime bounds a removal, and the wait for another host's vote.
const removalTime = 90 * time.Second

// hosts answers the calls about the hosts of the cluster.
type hosts struct{ *company }

// List implements api.Hosts.
func (h hosts) List(ctx context.Context) []client.HostStatus {
	all := h.seen()
	if h.node != nil {
		in, err := h.letIn(ctx)
		all = admitted(all, in)
		if err != nil {
			unread(all, err)
		}
	}
	slices.SortFunc(all, func(a, b client.HostStatus) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// letIn are the hosts that were let in. A store that is known to be away is not asked.
func (h hosts) letIn(ctx context.Context) ([]join.Admission, error) {
	if health := h.cluster.Health(); health.State == "down" {
		return nil, errors.New(health.Detail)
	}
	return h.node.Admitted(ctx)
}

// unread notes, at the host that was asked, that who was let in is not known.
func unread(all []client.HostStatus, why error) {
	for i := range all {
		if all[i].Self {
			all[i].Incomplete = "who was let in could not be read: " + why.Error()
		}
	}
}

// seen are the hosts that have appeared. It asks nobody.
func (h hosts) seen() []client.HostStatus {
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

// admitted tells of all hosts how they were let in, also of those that have not
// appeared since.
func admitted(all []client.HostStatus, in []join.Admission) []client.HostStatus {
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

// roles are the hosts' in the store. Members of an external one are no hosts.
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

// Token implements api.Hosts.
func (h hosts) Token(ctx context.Context, q client.TokenRequest) (client.Token, error) {
	if h.node == nil {
		return client.Token{}, heddle.Errorf(heddle.NoStore, "tokens", "are for an embedded store", "start the other hosts with this one's --store and certificates of the etcd's own authority")
	}
	t := client.Token{Uses: q.Uses, May: q.May, Join: h.node.Doors()}
	err := h.operate(ctx, q.Credential, func(ctx context.Context, o *join.Operator) (err error) {
		t.Token, t.Name, t.Expires, err = o.Token(ctx, time.Duration(q.Seconds)*time.Second, q.Uses, q.May...)
		return err
	})
	return t, err
}

// Keepers implements api.Hosts.
func (h hosts) Keepers(ctx context.Context, q client.KeepersRequest) error {
	if h.node == nil {
		return heddle.Errorf(heddle.NoStore, "keepers", "are of an embedded store", "the members of an external etcd are managed by etcdctl")
	}
	if (len(q.Promote) == 0) == (len(q.Demote) == 0) {
		return heddle.Errorf(heddle.BadArgument, "keepers", "to promote or to demote", "name hosts for the one or the other")
	}
	return h.operate(ctx, q.Credential, func(ctx context.Context, o *join.Operator) error {
		if len(q.Promote) > 0 {
			return o.Promote(ctx, q.Promote)
		}
		return o.Demote(ctx, q.Demote)
	})
}

// Rights implements api.Hosts.
func (h hosts) Rights(ctx context.Context, q client.RightsRequest) error {
	if h.node == nil {
		return heddle.Errorf(heddle.NoStore, "rights of hosts", "are of an embedded store", "those in an external etcd are managed by etcdctl")
	}
	if (len(q.Grant) == 0) == (len(q.Revoke) == 0) {
		return heddle.Errorf(heddle.BadArgument, "rights", "to grant or to revoke", "name rights for the one or the other")
	}
	return h.operate(ctx, q.Credential, func(ctx context.Context, o *join.Operator) error {
		if len(q.Grant) > 0 {
			return o.Grant(ctx, q.Name, q.Grant)
		}
		return o.Revoke(ctx, q.Name, q.Revoke)
	})
}

// operate acts with the rights that an operator's credential gives, and gives them up.
func (h hosts) operate(ctx context.Context, credential string, act func(context.Context, *join.Operator) error) error {
	ctx, cancel := context.WithTimeout(ctx, removalTime)
	defer cancel()
	o, err := h.node.Operator(ctx, []byte(credential))
	if err != nil {
		return err
	}
	return errors.Join(act(ctx, o), o.Close())
}

// part tells who keeps the store, and what might be done about it.
func (h hosts) part() heddle.PartStatus {
	all := h.seen()
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

// Remove implements api.Hosts.
func (h hosts) Remove(ctx context.Context, q client.RemovalRequest) error {
	if q.Name == h.name {
		return heddle.Errorf(heddle.BadArgument, "host", q.Name+" is this host", "call on another one")
	}
	if h.node == nil {
		return h.removeExternal(ctx, q)
	}
	return h.operate(ctx, q.Credential, func(ctx context.Context, o *join.Operator) error { return h.remove(ctx, o, q) })
}

func (h hosts) remove(ctx context.Context, o *join.Operator, q client.RemovalRequest) error {
	if err := o.Removable(ctx, q.Name, q.By); err != nil {
		return err
	}
	if q.By != "" && !h.cluster.View().Alive[q.By] {
		return heddle.Errorf(heddle.BadArgument, "host", q.By+" is away", "start its agent first")
	}
	err := h.cluster.RemoveHost(ctx, o.Store(), q.Name, q.Force)
	if errors.Is(err, heddle.NoHost.Sentinel()) {
		err = nil // it never came up, or an earlier removal was cut off
	}
	if err != nil {
		return err
	}
	if q.By != "" {
		return o.Replace(ctx, q.Name, q.By)
	}
	return o.Expel(ctx, q.Name)
}

// removeExternal removes a host by the rights that this host has in an external
// etcd, or by a credential for it.
func (h hosts) removeExternal(ctx context.Context, q client.RemovalRequest) error {
	if q.By != "" {
		return heddle.Errorf(heddle.NoStore, "to replace", q.Name+" needs an embedded store", "the members of an external etcd are managed by etcdctl")
	}
	if q.Credential != "" {
		return heddle.Errorf(heddle.BadArgument, "--credential", "is for an embedded store", "start this host's agent with a certificate that may do so in the external etcd, for the time being")
	}
	ctx, cancel := context.WithTimeout(ctx, removalTime)
	defer cancel()
	return h.cluster.RemoveHost(ctx, h.store, q.Name, q.Force)
}
