package agent

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// claimNIC is claim for a network that gives containers NICs of the host: one of
// the pool, with how it was, and addresses if the network has any.
func (a *Agent) claimNIC(giver heddle.NICGiver, n *network, req heddle.AttachRequest, pod *kernel.Netns) (heddle.Endpoint, error) {
	e := heddle.Endpoint{ID: req.ID, Network: n.ID, NetworkName: n.Name, Netns: req.Netns, Handover: req.Handover, Labels: req.Labels, Created: time.Now().UTC()}
	switch {
	case len(req.Ports) > 0:
		return e, heddle.Errorf(heddle.BadPort, "endpoint", req.ID.String(), "the host does not see a moved NIC's traffic, and publishes no ports for it")
	case !n.pool.Gives() && len(req.IPs) > 0:
		return e, heddle.Errorf(heddle.BadOption, "endpoint", req.ID.String(), "network "+n.Name+" has no subnet: the NIC keeps the addresses that it has")
	}
	if err := a.refreshFacts(); err != nil {
		return e, err
	}
	nic, err := a.fitNIC(giver, n, req)
	if err != nil {
		return e, err
	}
	err = checkDefault(n, req, &nic)
	if err == nil && n.pool.Gives() {
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
		a.giveNIC(req.ID)
		return e, err
	}
	e.NIC, e.MAC, e.MTU = &nic, nic.MAC, nic.Was.MTU
	if !n.pool.Gives() {
		e.Addrs = keptAddrs(nic)
	}
	a.forgetStaleDefault(pod)
	a.mu.Lock()
	defer a.mu.Unlock()
	e.Slot = n.slots.take()
	e.DefaultRoute = a.claimDefault(n, req, pod, &nic)
	return e, nil
}

// keptAddrs are the addresses that a NIC without a subnet takes along.
func keptAddrs(nic heddle.NIC) (all []netip.Prefix) {
	for _, x := range nic.Was.Addrs {
		if !x.Prefix.Addr().IsLinkLocalUnicast() {
			all = append(all, x.Prefix)
		}
	}
	return all
}

// fitNIC reserves the NIC asked for, or the first of the pool that is free and
// can be given away.
func (a *Agent) fitNIC(giver heddle.NICGiver, n *network, req heddle.AttachRequest) (heddle.NIC, error) {
	wish, err := wishedNIC(req)
	if err != nil {
		return heddle.NIC{}, err
	}
	pool, unfit := giver.Pool(n.Network), map[string]string{}
	for {
		name, err := a.takeNIC(n, req, pool, wish, unfit)
		if err != nil {
			return heddle.NIC{}, err
		}
		nic, err := a.kernel.Snapshot(name)
		if err == nil {
			err = a.spare(n, nic, req)
		}
		if err == nil {
			return nic, nil
		}
		a.giveNIC(req.ID)
		var known *heddle.Error
		if wish != "" || len(pool) == 1 || !errors.As(err, &known) {
			return heddle.NIC{}, err
		}
		unfit[name] = name + ": " + cmp.Or(known.Cause, known.Object)
	}
}

// takeNIC reserves the NIC wished for, or the first that is free; unfit says why
// others were not taken.
func (a *Agent) takeNIC(n *network, req heddle.AttachRequest, pool []string, wish string, unfit map[string]string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var why []string
	known := false
	for _, member := range pool {
		held, taken := a.holderOf(member)
		l, here := linkOf(a.facts, member)
		if wish != "" && wish != member && wish != l.Name && wish != string(l.MAC) && !held.is(wish) {
			continue
		}
		known = true
		switch {
		case taken:
			with := member + " is with " + held.by.String()
			if a.quarantine[held.by] != "" {
				with += " (in quarantine)"
			}
			why = append(why, with)
		case !here:
			why = append(why, member+" is not on the host")
		case unfit[l.Name] != "":
			why = append(why, unfit[l.Name])
		default:
			a.nics[l.Name+" "+string(l.MAC)] = heldNIC{by: req.ID, name: l.Name, mac: l.MAC}
			return l.Name, nil
		}
	}
	if !known {
		return "", heddle.Errorf(heddle.BadArgument, "NIC "+wish, "of network "+n.Name, "its NICs are "+strings.Join(pool, ", "))
	}
	return "", heddle.Errorf(heddle.NICTaken, "network", n.Name+": "+strings.Join(why, ", "), "detach an endpoint, or create a network with more NICs")
}

// wishedNIC is the NIC that a request names, by whichever field.
func wishedNIC(req heddle.AttachRequest) (string, error) {
	wish := req.NIC
	if mac, err := heddle.ParseMAC(wish); err == nil {
		wish = string(mac)
	}
	if req.MAC == "" || wish == string(req.MAC) {
		return wish, nil
	}
	if wish != "" {
		return "", heddle.Errorf(heddle.BadArgument, "NIC", wish+" with MAC "+string(req.MAC), "a NIC keeps its MAC address; name it by one of the two")
	}
	return string(req.MAC), nil
}

// heldNIC is a NIC that an endpoint has, or is about to get.
type heldNIC struct {
	by   heddle.EndpointID
	name string
	mac  heddle.MAC
}

func (h heldNIC) is(member string) bool {
	return member != "" && (h.name == member || string(h.mac) == member)
}

// givenAway lists the NICs that containers have.
func (a *Agent) givenAway() (all []kernel.GivenNIC) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, r := range a.endpoints {
		if r.Endpoint.NIC != nil {
			all = append(all, kernel.GivenNIC{NIC: *r.Endpoint.NIC, Inode: r.Inode, Cookie: r.Cookie})
		}
	}
	return all
}

// holderOf says who has the NIC that a pool's member names. The caller holds mu.
func (a *Agent) holderOf(member string) (heldNIC, bool) {
	for _, h := range a.nics {
		if h.is(member) {
			return h, true
		}
	}
	return heldNIC{}, false
}

func (a *Agent) giveNIC(id heddle.EndpointID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, h := range a.nics {
		if h.by == id {
			delete(a.nics, name)
		}
	}
}

func linkOf(h heddle.HostFacts, member string) (heddle.LinkFact, bool) {
	i := slices.IndexFunc(h.Links, func(l heddle.LinkFact) bool { return l.Name == member || string(l.MAC) == member })
	if i < 0 {
		return heddle.LinkFact{}, false
	}
	return h.Links[i], true
}

// spare refuses a NIC that the host or another network needs.
func (a *Agent) spare(n *network, nic heddle.NIC, req heddle.AttachRequest) error {
	for _, other := range a.Networks() {
		mode, err := a.mode(other.Mode)
		if _, giver := mode.(heddle.NICGiver); err == nil && !giver && other.Parent == nic.Name {
			return heddle.Errorf(heddle.NICNeeded, "NIC "+nic.Name, "is the parent of network "+other.Name, "name another one, or delete that network")
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
		return heddle.Errorf(heddle.NICNeeded, "NIC "+nic.Name, "carries the host's default route", "name another one; --force gives it away all the same")
	case slices.ContainsFunc(nic.Was.Addrs, func(x heddle.NICAddress) bool { return req.SSH.IsValid() && x.Prefix.Addr() == req.SSH.Unmap() }):
		return heddle.Errorf(heddle.NICNeeded, "NIC "+nic.Name, fmt.Sprintf("carries the SSH connection to %s by which this command came", req.SSH), "name another one; --force gives it away all the same")
	}
	return nil
}

// hostWithNICs is the host with the NICs that containers have, so that a
// network can be judged and completed while they are away.
func (a *Agent) hostWithNICs() heddle.HostFacts {
	a.mu.RLock()
	defer a.mu.RUnlock()
	facts := a.facts
	facts.Links = slices.Clone(facts.Links)
	for _, r := range a.endpoints {
		if nic := r.Endpoint.NIC; nic != nil {
			if _, here := linkOf(facts, nic.Name); !here {
				facts.Links = append(facts.Links, nic.Fact())
			}
		}
	}
	return facts
}

// standsOn reports whether a network that may share a subnet with the interface
// stands on it.
func (a *Agent) standsOn(mode heddle.Mode, n heddle.Network, l heddle.LinkFact) bool {
	if giver, ok := mode.(heddle.NICGiver); ok {
		return slices.ContainsFunc(giver.Pool(n), func(member string) bool { return member == l.Name || member == string(l.MAC) })
	}
	return mayShareSubnet(mode) && l.Name == n.Parent
}

// container lists the records of the other endpoints in a namespace.
func (a *Agent) container(pod *kernel.Netns) []record {
	if pod == nil {
		return nil
	}
	a.mu.RLock()
	var all []record
	for id := range a.inPods[pod.Inode()] {
		all = append(all, a.endpoints[id])
	}
	a.mu.RUnlock()
	// a number may be used again
	return slices.DeleteFunc(all, func(r record) bool { return !r.isPodOf(pod) })
}

// restoreNIC claims again, at start, the NIC that a recorded endpoint has.
func (a *Agent) restoreNIC(e heddle.Endpoint) {
	if e.NIC == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.nics[e.NIC.Name+" "+string(e.NIC.MAC)] = heldNIC{by: e.ID, name: e.NIC.Name, mac: e.NIC.MAC}
}
