package doctor

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
)

// self returns this host's record in the cluster, or a finding that says why it is not known.
func (h *Host) self(ctx context.Context) (client.HostStatus, *Finding) {
	if !h.clustered() {
		return client.HostStatus{}, &notInCluster
	}
	all, err := ask(ctx, h, (*client.Client).Hosts)
	if err != nil {
		f := unknown(err)
		return client.HostStatus{}, &f
	}
	for _, host := range all {
		if host.Self {
			return host, nil
		}
	}
	f := skip("'heddle host list' does not have this host")
	return client.HostStatus{}, &f
}

// underlay returns the interface that has one of this host's underlay addresses, and the first
// of these addresses. The finding says why they are not known.
func (h *Host) underlay(ctx context.Context) (heddle.LinkFact, netip.Addr, *Finding) {
	self, missing := h.self(ctx)
	if missing != nil {
		return heddle.LinkFact{}, netip.Addr{}, missing
	}
	facts, err := h.Facts()
	if err != nil {
		f := unknown(err)
		return heddle.LinkFact{}, netip.Addr{}, &f
	}
	for _, addr := range self.Underlay {
		if l, there := facts.Holder(addr); there {
			return l, self.Underlay[0], nil
		}
	}
	f := skip("no interface has this host's underlay address: see underlay-address")
	return heddle.LinkFact{}, netip.Addr{}, &f
}

func lookUnderlayAddress(ctx context.Context, h *Host) Finding {
	self, missing := h.self(ctx)
	if missing != nil {
		return *missing
	}
	facts, err := h.Facts()
	if err != nil {
		return unknown(err)
	}
	var evidence, read []string
	for _, addr := range self.Underlay {
		line := fmt.Sprintf("heddle host list: %s has %s; ip address: ", self.Name, addr)
		if l, there := facts.Holder(addr); there {
			read = append(read, line+"on "+l.Name)
		} else {
			evidence = append(evidence, line+"on no interface")
		}
	}
	if len(evidence) == 0 {
		return fine(read...)
	}
	return trouble(evidence)
}
