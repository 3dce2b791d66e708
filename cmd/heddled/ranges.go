package main

import (
	"context"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/join"
	"github.com/heddle-network/heddle/store"
)

// Ranges implements api.Hosts.
func (h hosts) Ranges() client.Ranges { return client.Ranges{Ranges: h.cluster.View().Ranges} }

// SetRanges implements api.Hosts. In an external etcd it uses this host's own rights.
func (h hosts) SetRanges(ctx context.Context, q client.Ranges) (client.Ranges, error) {
	err := h.setRanges(ctx, q)
	if !q.DryRun {
		return h.Ranges(), err
	}
	lines, err := rehearsed(err)
	return client.Ranges{Ranges: h.Ranges().Ranges, Commands: lines}, err
}

func (h hosts) setRanges(ctx context.Context, q client.Ranges) error {
	if h.node != nil {
		return h.operate(ctx, q.Credential, q.DryRun, func(ctx context.Context, o *join.Operator) error {
			return h.cluster.SetRanges(ctx, o.Store(), q.Ranges)
		})
	}
	ctx, cancel := context.WithTimeout(ctx, operationTime)
	defer cancel()
	own := h.store
	if q.DryRun {
		own = store.Rehearse(own)
	}
	return h.cluster.SetRanges(ctx, own, q.Ranges)
}

// refusedBy lists which of a host's records are not accepted.
func refusedBy(v *cluster.View, name string) (all []string) {
	for _, f := range v.Refused {
		if f.Writer == name {
			all = append(all, f.String())
		}
	}
	return all
}

// refusedHosts returns the hosts whose own record is not accepted.
func refusedHosts(v *cluster.View, known []client.HostStatus) (all []client.HostStatus) {
	seen := map[string]bool{}
	for _, h := range known {
		seen[h.Name] = true
	}
	for _, f := range v.Refused {
		if f.Writer != "" && !seen[f.Writer] {
			seen[f.Writer] = true
			all = append(all, client.HostStatus{Name: heddle.Clip(f.Writer), Role: "client", State: "refused", Refused: refusedBy(v, f.Writer)})
		}
	}
	return all
}
