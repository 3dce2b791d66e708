package agent

import "github.com/heddle-network/heddle"

// identities are what each endpoint of a network has besides its addresses: a MAC address and a
// slot number.
type identities struct {
	mu    mutex[atIdentities]
	macs  map[heddle.MAC]heddle.EndpointID
	slots slots
}

func newIdentities() *identities { return &identities{macs: map[heddle.MAC]heddle.EndpointID{}} }

// takeMAC reserves the MAC address asked for, or one that is derived from the endpoint's ID.
func (s *identities) takeMAC(n *network, h heddle.HostFacts, req heddle.AttachRequest) (heddle.MAC, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := n.mode.(heddle.FixedMAC); ok {
		fixed := f.MAC(h, n.Network)
		if fixed != "" && req.MAC != "" && req.MAC != fixed {
			return "", heddle.Errorf(heddle.MACTaken, "use MAC address", string(req.MAC)+" on network "+n.Name,
				"the network's containers have the parent's address "+string(fixed), "leave --mac out")
		}
		if fixed != "" {
			return fixed, nil
		}
	}
	if req.MAC != "" && req.MAC == n.GatewayMAC() {
		return "", heddle.Errorf(heddle.MACTaken, "use MAC address", string(req.MAC),
			"the network's gateway has the address",
			"choose another MAC address, or leave it out")
	}
	if holder, taken := s.macs[req.MAC]; req.MAC != "" && taken && holder != req.ID {
		return "", heddle.Errorf(heddle.MACTaken, "use MAC address", string(req.MAC),
			"endpoint "+holder.String()+" has the address", "choose another MAC address, or leave it out")
	}
	mac := req.MAC
	for salt := 0; mac == ""; salt++ {
		if m := req.ID.DefaultMAC(n.ID, salt); s.macs[m] == (heddle.EndpointID{}) {
			mac = m
		}
	}
	s.macs[mac] = req.ID
	return mac, nil
}

// takeSlot reserves a slot number.
func (s *identities) takeSlot() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slots.take()
}

// restore reserves again, at start, what an endpoint has.
func (s *identities) restore(e heddle.Endpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.macs[e.MAC] = e.ID
	s.slots.mark(e.Slot)
}

// free gives back what an endpoint had.
func (s *identities) free(e heddle.Endpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.macs[e.MAC] == e.ID {
		delete(s.macs, e.MAC)
	}
	s.slots.free(e.Slot)
}

// slots hands out numbers, the lowest free one first.
type slots struct {
	used   []bool
	lowest int // no number below is free
}

func (s *slots) take() int {
	for i := s.lowest; i < len(s.used); i++ {
		if !s.used[i] {
			s.used[i], s.lowest = true, i+1
			return i
		}
	}
	s.used = append(s.used, true)
	s.lowest = len(s.used)
	return len(s.used) - 1
}

func (s *slots) mark(i int) {
	for len(s.used) <= i {
		s.used = append(s.used, false)
	}
	s.used[i] = true
}

func (s *slots) free(i int) {
	if i < len(s.used) {
		s.used[i] = false
		s.lowest = min(s.lowest, i)
	}
}
