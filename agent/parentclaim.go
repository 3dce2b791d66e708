package agent

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// claimParent claims a NIC that endpoints share, and one of its addresses. It returns the network as the endpoint has it, and the request for
// that address.
func (a *Agent) claimParent(ctx context.Context, w parentNetwork, n *network, req heddle.AttachRequest, e *heddle.Endpoint) (*network, heddle.AttachRequest, error) {
	object := req.ID.String() + " to network " + n.Name
	switch {
	case a.opt.NICs == nil:
		return n, req, noProvider("attach endpoint", object)
	case len(req.IPs) > 0:
		return n, req, heddle.Errorf(heddle.BadOption, "attach endpoint", object, "who plugs NICs in says which addresses they have", "leave --ip out")
	case req.DryRun:
		return n, req, heddle.Errorf(heddle.BadOption, "plan endpoint", object, "which NIC and address it will be is known when they are there, and a dry run plugs none", "leave --dry-run out")
	}
	on, addrs, err := a.plugs.parents.take(ctx, w, req.ID)
	if err != nil {
		return n, req, err
	}
	err = checkSubnets(n.Network, object, addrs)
	if err == nil && on.Routed != nil { // the host needs an address there as well
		err = checkSubnets(n.Network, object, on.Routed.Addrs)
	}
	if err != nil {
		a.plugs.parents.give(n.ID, req.ID)
		return n, req, err
	}
	e.Parent = &on
	for _, p := range addrs {
		req.IPs = append(req.IPs, p.Addr())
	}
	return n.leasedTo(*e), req, nil
}

// checkSubnets refuses addresses of a NIC that are not one of each of the subnets that the network names. The pool would choose one where none is given,
// and the guard lets none pass that the NIC does not have.
func checkSubnets(n heddle.Network, object string, addrs []netip.Prefix) error {
	same, named := len(addrs) == len(n.Subnets), ""
	for _, p := range addrs {
		same = same && slices.Contains(n.Subnets, p.Masked())
		named += " --subnet " + p.Masked().String()
	}
	if same {
		return nil
	}
	return heddle.Errorf(heddle.OutsidePool, "attach endpoint", object, fmt.Sprintf("who plugs NICs in has given %s, and the network is %s", heddle.List(addrs), heddle.List(n.Subnets)),
		"delete the network, and create it with"+named)
}

// compare finds NICs and addresses of endpoints that the provider does not have. in is what it has, by token.
func (ps *parents) compare(in map[string]nic.Card) (found []heddle.Finding) {
	ps.plugs.records.each(func(r record, op string) {
		on := r.Endpoint.Parent
		if on == nil || op != "" {
			return
		}
		f := heddle.Finding{Kind: "missing", Object: pluggedObject + on.Token, Owner: r.Endpoint.ID.String(), Remedy: r.remedy()}
		switch card, known := in[on.Token]; {
		case !known || !card.Plugged:
			f.Detail = "NIC " + string(on.MAC) + " is not plugged in any more"
		case !hasSet(card, r.Endpoint.Addrs):
			f.Detail = fmt.Sprintf("NIC %s does not have address %s any more", on.MAC, joinedAddrs(r.Endpoint))
		default:
			return
		}
		found = append(found, f)
	})
	slices.SortFunc(found, func(x, y heddle.Finding) int { return cmp.Compare(x.Owner, y.Owner) })
	return found
}

// text tells of the NICs that endpoints share; "" if there are none.
func (ps *parents) text() string {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	nics, blocks, all := 0, 0, [3]int{}
	for _, own := range ps.pools {
		used, ready, cooling := own.counts(time.Now())
		nics, blocks, all = nics+len(own.nics), blocks+own.blocks(), [3]int{all[0] + used, all[1] + ready, all[2] + cooling}
	}
	if nics == 0 {
		return ""
	}
	text := fmt.Sprintf(", %s shared with %d addresses in use, %d ready, %d cooling", heddle.Count(nics, "NIC"), all[0], all[1], all[2])
	if blocks > 0 {
		text += fmt.Sprintf(" (prefixes: %d)", blocks)
	}
	return text
}
