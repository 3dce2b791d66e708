package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// claimNIC is claim for a network that gives NICs of the host to containers. It claims a NIC of
// the pool, with a record of its settings, and addresses if the network has any; or it has a NIC
// plugged in.
func (a *Agent) claimNIC(ctx context.Context, giver heddle.NICGiver, n *network, req heddle.AttachRequest,
	pod kernel.Pod) (heddle.Endpoint, error) {
	e := heddle.Endpoint{ID: req.ID, Network: n.ID, NetworkName: n.Name, Netns: req.Netns, Handover: req.Handover, LinkOnly: req.LinkOnly,
		Labels: req.Labels, Name: req.Name, Aliases: req.Aliases, Created: time.Now().UTC()}
	switch {
	case len(req.Ports) > 0:
		return e, heddle.Errorf(heddle.BadPort, "publish ports of endpoint", req.ID.String(),
			"the host publishes no ports for a NIC that it has moved: it does not see the traffic",
			"leave --publish out")
	case n.plugsOn() != "":
		return a.claimPlugged(ctx, giver, n, req, e, pod)
	case !n.pool.Gives() && len(req.IPs) > 0:
		return e, heddle.Errorf(heddle.BadOption, "attach endpoint", req.ID.String()+" to network "+n.Name,
			"the network has no subnet: the NIC keeps the addresses that it has", "leave --ip out")
	}
	if n.FromDHCP() {
		if err := checkByDHCP(n, req); err != nil {
			return e, err
		}
	}
	if err := a.host.refresh(); err != nil {
		return e, err
	}
	nic, err := a.chooseNIC(giver, n, req)
	if err != nil {
		return e, err
	}
	if !n.FromDHCP() { // the lease will say
		err = checkDefault(n, req, &nic)
	}
	if err == nil && n.pool.Gives() && !n.FromDHCP() {
		take := n.pool.Take
		if req.DryRun {
			take = n.pool.Preview
		}
		leased := false
		if e.Addrs, leased, err = a.claimLeased(n, req); !leased {
			e.Addrs, err = take(req.ID, req.IPs)
		}
	}
	if err != nil {
		a.nics.free(req.ID)
		return e, err
	}
	e.NIC, e.MAC, e.MTU = &nic, nic.MAC, nic.Was.MTU
	if !n.pool.Gives() {
		e.Addrs = keptAddrs(nic)
	}
	a.forgetStaleDefault(pod)
	e.Slot = n.identities.takeSlot()
	e.DefaultRoute = a.defaults.claimFor(n, req, pod, &nic)
	return e, nil
}

// checkNoNIC refuses a NIC on a network that gives none.
func checkNoNIC(n *network, req heddle.AttachRequest) error {
	if req.NIC == "" {
		return nil
	}
	return heddle.Errorf(heddle.BadOption, "attach endpoint", req.ID.String()+" to network "+n.Name,
		"a network of mode "+n.Mode+" has no NICs to give", "leave --nic out, or use a network of mode direct")
}

// keptAddrs returns the addresses that a NIC keeps on a network without a subnet.
func keptAddrs(nic heddle.NIC) (all []netip.Prefix) {
	for _, x := range nic.Was.Addrs {
		if !x.Prefix.Addr().IsLinkLocalUnicast() {
			all = append(all, x.Prefix)
		}
	}
	return all
}

// chooseNIC reserves the NIC asked for, or the first of the pool that is free and
// can be given away.
func (a *Agent) chooseNIC(giver heddle.NICGiver, n *network, req heddle.AttachRequest) (heddle.NIC, error) {
	wish, err := requestedNIC(req)
	if err != nil {
		return heddle.NIC{}, err
	}
	pool, unfit := giver.Pool(n.Network), map[string]string{}
	for {
		name, err := a.nics.take(n, req, pool, wish, unfit)
		if err != nil {
			return heddle.NIC{}, err
		}
		nic, err := a.kernel.Snapshot(name)
		if err == nil {
			err = a.checkNotNeeded(n, nic, req)
		}
		if err == nil {
			return nic, nil
		}
		a.nics.free(req.ID)
		var known *heddle.Error
		if wish != "" || len(pool) == 1 || !errors.As(err, &known) {
			return heddle.NIC{}, err
		}
		unfit[name] = name + ": " + heddle.CauseOf(err)
	}
}

// requestedNIC returns the NIC that a request names by NIC or by MAC.
func requestedNIC(req heddle.AttachRequest) (string, error) {
	wish := req.NIC
	if mac, err := heddle.ParseMAC(wish); err == nil {
		wish = string(mac)
	}
	if req.MAC == "" || wish == string(req.MAC) {
		return wish, nil
	}
	if wish != "" {
		return "", heddle.Errorf(heddle.BadArgument, "use NIC", wish+" with MAC address "+string(req.MAC),
			"a NIC keeps its MAC address", "name the NIC by its name or by its MAC address")
	}
	return string(req.MAC), nil
}

func linkOf(h heddle.HostFacts, member string) (heddle.LinkFact, bool) {
	i := slices.IndexFunc(h.Links, func(l heddle.LinkFact) bool { return l.Name == member || string(l.MAC) == member })
	if i < 0 {
		return heddle.LinkFact{}, false
	}
	return h.Links[i], true
}

// checkNotNeeded refuses a NIC that the host or another network needs.
func (a *Agent) checkNotNeeded(n *network, nic heddle.NIC, req heddle.AttachRequest) error {
	for _, other := range a.networks.all() {
		mode, err := a.modes.find(other.Mode)
		if _, giver := mode.(heddle.NICGiver); err == nil && !giver && other.Parent == nic.Name {
			return heddle.Errorf(heddle.NICNeeded, "move NIC", nic.Name, "the NIC is the parent of network "+other.Name,
				"name another NIC, or delete that network")
		}
	}
	if req.Force {
		return nil
	}
	carries, err := a.kernel.CarriesDefault(nic.Name)
	switch {
	case err != nil:
		return err
	case carries:
		return heddle.Errorf(heddle.NICNeeded, "move NIC", nic.Name, "the NIC carries the host's default route",
			"name another NIC, or move this one with --force")
	case slices.ContainsFunc(nic.Was.Addrs, func(x heddle.NICAddress) bool { return req.SSH.IsValid() && x.Prefix.Addr() == req.SSH.Unmap() }):
		return heddle.Errorf(heddle.NICNeeded, "move NIC", nic.Name,
			fmt.Sprintf("the NIC carries the SSH connection to %s by which this command came", req.SSH),
			"name another NIC, or move this one with --force")
	}
	return nil
}

// hostWithNICs returns the host's facts with the NICs that containers have, so that a network can
// be checked and completed while they are away.
func (a *Agent) hostWithNICs() heddle.HostFacts {
	facts := a.host.now()
	facts.Links = slices.Clone(facts.Links)
	for _, given := range a.records.givenNICs() {
		if _, here := linkOf(facts, given.NIC.Name); !here {
			facts.Links = append(facts.Links, given.NIC.Fact())
		}
	}
	return facts
}

// usesInterface reports whether a network uses the interface as its parent or NIC, and may share a
// subnet with it.
func (a *Agent) usesInterface(mode heddle.Mode, n heddle.Network, l heddle.LinkFact) bool {
	if giver, ok := mode.(heddle.NICGiver); ok {
		return slices.ContainsFunc(giver.Pool(n), func(member string) bool { return member == l.Name || member == string(l.MAC) })
	}
	return mayShareSubnet(mode) && l.Name == n.Parent
}
