package cloud

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
)

// forbid is a failure of a call that is not allowed.
func forbid(code string) error { return failure{http.StatusForbidden, code, ""} }

// ready finds a NIC whose addresses can be changed.
func (c *Cloud) readyLocked(q query) (state, error) {
	h := c.nics[q["NetworkInterfaceId"]]
	if h == nil || h.now().Status == "" {
		return state{}, fail("InvalidEniId.NotFound")
	}
	if s := h.now(); s.Status == "InUse" || s.Status == "Available" {
		return s, nil
	}
	return state{}, forbid("InvalidOperation.InvalidEniState")
}

func (c *Cloud) assignFours(ctx context.Context, q query) (said []string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.readyLocked(q)
	if err != nil {
		return nil, err
	}
	if q["Ipv4PrefixCount"] != "" {
		return c.assignBlocksLocked(q, s)
	}
	given, before := c.given[q["ClientToken"]]
	if !before {
		count, _ := strconv.Atoi(q["SecondaryPrivateIpAddressCount"])
		v := c.VSwitches[s.VSwitch]
		switch {
		case count < 1:
			return nil, fail("MissingParameter")
		case 1+len(s.Fours)+len(s.Blocks)+count > c.IPv4s:
			return nil, forbid("InvalidOperation.Ipv4CountExceeded")
		case v.Free < count:
			return nil, forbid("InvalidVSwitchId.IpNotEnough")
		}
		for range count {
			a, err := c.furtherLocked(ctx, v, s, netip.Addr{})
			if err != nil {
				return nil, err
			}
			given, s.Fours = append(given, a), append(slices.Clone(s.Fours), a)
			v.Free--
			c.VSwitches[s.VSwitch] = v
			c.putLocked(s)
		}
		c.given[q["ClientToken"]] = given
	}
	return c.saidLocked(given), nil
}

func (c *Cloud) assignSixes(ctx context.Context, q query) (said []string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.readyLocked(q)
	if err != nil {
		return nil, err
	}
	if q["Ipv6PrefixCount"] != "" {
		return c.assignSixBlocksLocked(q, s)
	}
	given, before := c.given[q["ClientToken"]]
	if !before {
		named := q.list("Ipv6Address")
		v := c.VSwitches[s.VSwitch]
		switch {
		case len(named) < 1 || len(named) > 10:
			return nil, fail("MissingParameter")
		case 1+len(s.Sixes)+len(s.SixBlocks)+len(named) > c.IPv6s:
			return nil, forbid("InvalidOperation.Ipv6CountExceeded")
		}
		for _, text := range named {
			a, err := netip.ParseAddr(text)
			switch {
			case err != nil || !v.V6.Contains(a):
				return nil, forbid("InvalidIp.Address")
			case c.hasLocked(a) || slices.Contains(given, a):
				return nil, forbid("InvalidIp.IpAssigned")
			}
			given = append(given, a)
		}
		for _, a := range given {
			if _, err := c.furtherLocked(ctx, v, s, a); err != nil {
				return nil, err
			}
			s.Sixes = append(slices.Clone(s.Sixes), a)
			c.putLocked(s)
		}
		c.given[q["ClientToken"]] = given
	}
	return c.saidLocked(given), nil
}

// saidLocked is what is said to have been assigned.
func (c *Cloud) saidLocked(given []netip.Addr) []string {
	if c.faults.Given != nil {
		return c.faults.Given
	}
	return texts(given)
}

// texts are addresses, or prefixes, as texts.
func texts[T fmt.Stringer](given []T) []string {
	all := []string{}
	for _, a := range given {
		all = append(all, a.String())
	}
	return all
}

// furtherLocked gives a NIC one more address: one that is asked for, or a free IPv4 address. Of a real port it is one of a set, whose other address nobody
// is told of.
func (c *Cloud) furtherLocked(ctx context.Context, v VSwitch, s state, want netip.Addr) (netip.Addr, error) {
	if c.Ports == nil {
		if want.IsValid() {
			return want, nil
		}
		a := v.V4.Addr()
		for range 100 {
			a = a.Next()
		}
		for c.hasLocked(a) {
			a = a.Next()
		}
		return a, nil
	}
	var ips []netip.Addr
	if want.IsValid() {
		ips = append(ips, want)
	}
	set, err := c.Ports.Further(ctx, s.port, len(s.Fours)+len(s.Sixes), ips...)
	if err != nil {
		return netip.Addr{}, forbid("InvalidIp.IpAssigned")
	}
	for _, p := range set {
		if p.Addr() == want || !want.IsValid() && p.Addr().Is4() {
			return p.Addr(), nil
		}
	}
	return netip.Addr{}, forbid("InvalidVSwitchId.IpNotEnough")
}

// hasLocked reports whether any NIC has an address.
func (c *Cloud) hasLocked(a netip.Addr) bool {
	for _, h := range c.nics {
		s := h.now()
		if s.Status != "" && (slices.Contains(slices.Concat(s.Addrs, s.Fours, s.Sixes), a) ||
			slices.ContainsFunc(slices.Concat(s.Blocks, s.SixBlocks), func(b netip.Prefix) bool { return b.Contains(a) })) {
			return true
		}
	}
	return false
}

func (c *Cloud) unassignFours(ctx context.Context, q query) error {
	if len(q.list("Ipv4Prefix")) > 0 {
		return c.unassignBlocks(q, "Ipv4Prefix", func(s *state) *[]netip.Prefix { return &s.Blocks })
	}
	return c.unassign(ctx, q, "PrivateIpAddress", func(s *state) *[]netip.Addr { return &s.Fours })
}

func (c *Cloud) unassignSixes(ctx context.Context, q query) error {
	if len(q.list("Ipv6Prefix")) > 0 {
		return c.unassignBlocks(q, "Ipv6Prefix", func(s *state) *[]netip.Prefix { return &s.SixBlocks })
	}
	return c.unassign(ctx, q, "Ipv6Address", func(s *state) *[]netip.Addr { return &s.Sixes })
}

func (c *Cloud) unassign(ctx context.Context, q query, key string, of func(*state) *[]netip.Addr) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.readyLocked(q)
	if err != nil {
		return err
	}
	var all []netip.Addr
	for _, text := range q.list(key) {
		a, err := netip.ParseAddr(text)
		if err != nil || !slices.Contains(*of(&s), a) {
			return fail("InvalidIp.IpUnassigned")
		}
		all = append(all, a)
	}
	for _, a := range all {
		if c.Ports != nil {
			if _, err := c.Ports.Unassign(ctx, s.port, a); err != nil {
				return err
			}
		}
		*of(&s) = slices.DeleteFunc(slices.Clone(*of(&s)), func(x netip.Addr) bool { return x == a })
		if a.Is4() {
			v := c.VSwitches[s.VSwitch]
			v.Free++
			c.VSwitches[s.VSwitch] = v
		}
		c.putLocked(s)
	}
	return nil
}
