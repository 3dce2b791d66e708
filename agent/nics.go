package agent

import (
	"maps"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// nics records which endpoint has which NIC, by the NIC's name on the host and MAC address.
type nics struct {
	host       *hostView
	quarantine *quarantine

	mu    rwMutex[atNICs]
	byKey map[string]heldNIC
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

// take reserves the NIC asked for, or the first free one. unfit says why others were not taken.
func (c *nics) take(n *network, req heddle.AttachRequest, pool []string, wish string,
	unfit map[string]string) (string, error) {
	host := c.host.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	var why []string
	known := false
	for _, member := range pool {
		held, taken := c.holderOfLocked(member)
		l, here := linkOf(host, member)
		if wish != "" && wish != member && wish != l.Name && wish != string(l.MAC) && !held.is(wish) {
			continue
		}
		known = true
		switch {
		case taken:
			with := member + " is with " + held.by.String()
			if why, _ := c.quarantine.reasonFor(held.by); why != "" {
				with += " (in quarantine)"
			}
			why = append(why, with)
		case !here:
			why = append(why, member+" is not on the host")
		case unfit[l.Name] != "":
			why = append(why, unfit[l.Name])
		default:
			c.byKey[l.Name+" "+string(l.MAC)] = heldNIC{by: req.ID, name: l.Name, mac: l.MAC}
			return l.Name, nil
		}
	}
	if !known {
		return "", heddle.Errorf(heddle.BadArgument, "use NIC", wish+" of network "+n.Name,
			"the network has no such NIC", "name a NIC of the network: "+strings.Join(pool, ", "))
	}
	return "", heddle.Errorf(heddle.NICTaken, "find a free NIC of network", n.Name, strings.Join(why, ", "),
		"detach an endpoint, or create a network with more NICs")
}

// holderOfLocked returns who has the NIC that an entry of a pool names.
func (c *nics) holderOfLocked(member string) (heldNIC, bool) {
	for _, h := range c.byKey {
		if h.is(member) {
			return h, true
		}
	}
	return heldNIC{}, false
}

// free gives back an endpoint's NIC, if it has one.
func (c *nics) free(id heddle.EndpointID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.byKey, func(_ string, h heldNIC) bool { return h.by == id })
}

// note reserves the NIC that an endpoint has: one that was recorded, at start, or one that was plugged in for it.
func (c *nics) note(e heddle.Endpoint) {
	if e.NIC == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byKey[e.NIC.Name+" "+string(e.NIC.MAC)] = heldNIC{by: e.ID, name: e.NIC.Name, mac: e.NIC.MAC}
}

// all lists the NICs that endpoints have.
func (c *nics) all() []heldNIC {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Collect(maps.Values(c.byKey))
}
