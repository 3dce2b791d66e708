package cloud

import (
	"net/netip"
	"slices"
	"strconv"
)

// blockSize is how many addresses a prefix of IPv4 has.
const blockSize = 16

// assignBlocksLocked gives a NIC IPv4 prefixes. Each counts as one of the addresses that the NIC may have.
func (c *Cloud) assignBlocksLocked(q query, s state) ([]string, error) {
	given, before := c.blocks[q["ClientToken"]]
	if !before {
		count, _ := strconv.Atoi(q["Ipv4PrefixCount"])
		v := c.VSwitches[s.VSwitch]
		switch {
		case count < 1 || count > 10 || q["SecondaryPrivateIpAddressCount"] != "":
			return nil, fail("MissingParameter")
		case 1+len(s.Fours)+len(s.Blocks)+count > c.IPv4s:
			return nil, forbid("InvalidOperation.Ipv4CountExceeded")
		case v.Free < count*blockSize:
			return nil, forbid("TooFewForPrefix")
		case c.faults.Crumbled || c.Ports != nil: // real ports have addresses alone
			return nil, forbid("NoFreePrefix")
		}
		for len(given) < count {
			b := c.freeBlockLocked(v.V4, given)
			if !b.IsValid() {
				return nil, forbid("NoFreePrefix")
			}
			given = append(given, b)
		}
		v.Free -= count * blockSize
		c.VSwitches[s.VSwitch] = v
		s.Blocks = append(slices.Clone(s.Blocks), given...)
		c.putLocked(s)
		c.blocks[q["ClientToken"]] = given
	}
	if c.faults.Given != nil {
		return c.faults.Given, nil
	}
	return texts(given), nil
}

// freeBlockLocked is a prefix of a subnet that no address is of, not of the subnet's ends, which are the system's; the zero value if there is none.
func (c *Cloud) freeBlockLocked(v4 netip.Prefix, besides []netip.Prefix) netip.Prefix {
	a := v4.Masked().Addr()
	for {
		for range blockSize {
			a = a.Next()
		}
		b := netip.PrefixFrom(a, 28)
		end, free := a, !slices.Contains(besides, b)
		for range blockSize {
			free, end = free && !c.hasLocked(end), end.Next()
		}
		if !v4.Contains(end) { // it is the last one, or behind it
			return netip.Prefix{}
		}
		if free {
			return b
		}
	}
}

// assignSixBlocksLocked gives a NIC one IPv6 prefix.
func (c *Cloud) assignSixBlocksLocked(q query, s state) ([]string, error) {
	given, before := c.blocks[q["ClientToken"]]
	if !before {
		v := c.VSwitches[s.VSwitch]
		switch {
		case q["Ipv6PrefixCount"] != "1" || !v.V6.IsValid():
			return nil, fail("MissingParameter")
		case 1+len(s.Sixes)+len(s.SixBlocks)+1 > c.IPv6s:
			return nil, forbid("InvalidOperation.Ipv6CountExceeded")
		}
		bytes := v.V6.Masked().Addr().As16()
		for number := byte(1); len(given) == 0; number++ {
			bytes[9] = number
			if b := netip.PrefixFrom(netip.AddrFrom16(bytes), 80); !c.hasLocked(b.Addr()) {
				given = []netip.Prefix{b}
			}
		}
		s.SixBlocks = append(slices.Clone(s.SixBlocks), given...)
		c.putLocked(s)
		c.blocks[q["ClientToken"]] = given
	}
	if c.faults.Given != nil {
		return c.faults.Given, nil
	}
	return texts(given), nil
}

func (c *Cloud) unassignBlocks(q query, key string, of func(*state) *[]netip.Prefix) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.readyLocked(q)
	if err != nil {
		return err
	}
	for _, text := range q.list(key) {
		b, err := netip.ParsePrefix(text)
		if err != nil || !slices.Contains(*of(&s), b) {
			return fail("InvalidIp.IpUnassigned")
		}
		*of(&s) = slices.DeleteFunc(slices.Clone(*of(&s)), func(x netip.Prefix) bool { return x == b })
		if b.Addr().Is4() {
			v := c.VSwitches[s.VSwitch]
			v.Free += blockSize
			c.VSwitches[s.VSwitch] = v
		}
	}
	c.putLocked(s)
	return nil
}
