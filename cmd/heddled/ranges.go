package main

import (
	"context"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/join"
)

// Ranges implements api.Hosts.
func (h hosts) Ranges() client.Ranges { return client.Ranges{Ranges: h.cluster.View().Ranges} }

// SetRanges implements api.Hosts. In an external etcd it uses this host's own rights.
func (h hosts) SetRanges(ctx context.Context, q client.Ranges) (client.Ranges, error) {
	if h.node == nil {
		ctx, cancel := context.WithTimeout(ctx, operationTime)
		defer cancel()
		return h.Ranges(), h.cluster.SetRanges(ctx, h.store, q.Ranges)
	}
	err := h.operate(ctx, q.Credential, func(ctx context.Context, o *join.Operator) error {
		return h.cluster.SetRanges(ctx, o.Store(), q.Ranges)
	})
	return h.Ranges(), err
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
