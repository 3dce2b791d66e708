package eni

import (
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

// A block is an IPv4 prefix that a NIC is given whole. Each of its addresses is the IPv4 address of a set. Their IPv6 addresses are of one IPv6 prefix, which a NIC
// gets with its first block and keeps: they are made from the IPv4 addresses, as those of others are.

const (
	// blockBits and sixBlockBits are the lengths of the prefixes that clouds give (EC2 User Guide, "Prefix delegation for Amazon EC2 network interfaces"; Alibaba Cloud, ECS
	// API, AssignPrivateIpAddresses and AssignIpv6Addresses).
	blockBits, sixBlockBits = 28, 80
	// blockSize is how many addresses a block has.
	blockSize = 1 << (32 - blockBits)
	// crumbledTime is how long no prefix is asked for of a subnet that had none.
	crumbledTime = 5 * time.Minute
)

// Blocks are those of texts that are prefixes.
func Blocks(texts []string) (all []netip.Prefix) {
	for _, text := range texts {
		if x, err := netip.ParsePrefix(text); err == nil {
			all = append(all, x)
		}
	}
	return all
}

// isBlock reports whether the subnet can have given a prefix as a block.
func (s Subnet) isBlock(x netip.Prefix) bool {
	return x.Addr().Is4() && x.Bits() == blockBits && x == x.Masked() && s.V4.IsValid() && s.V4.Bits() <= blockBits && s.V4.Contains(x.Addr())
}

// isSixBlock is isBlock for IPv6.
func (s Subnet) isSixBlock(x netip.Prefix) bool {
	return x.Addr().Is6() && x.Bits() == sixBlockBits && x == x.Masked() && s.V6.IsValid() && s.V6.Bits() <= partnerBits && s.V6.Contains(x.Addr())
}

// sixBlock is the first of the subnet's IPv6 prefixes among all, which are in order; the zero value if there is none.
func (s Subnet) sixBlock(all []netip.Prefix) netip.Prefix {
	if i := slices.IndexFunc(all, s.isSixBlock); i >= 0 {
		return all[i]
	}
	return netip.Prefix{}
}

// sixOf is the IPv6 address of an IPv6 prefix that goes with an IPv4 address.
func sixOf(six netip.Prefix, a netip.Addr) netip.Addr {
	bytes := six.Masked().Addr().As16()
	copy(bytes[sixBlockBits/8:], partnerMark[2:])
	copy(bytes[12:], a.AsSlice())
	return netip.AddrFrom16(bytes)
}

// addBlock adds the sets of a block.
func (f *further) addBlock(x netip.Prefix, at Subnet, paired bool, first []netip.Addr) {
	if paired && !f.six.IsValid() {
		f.halves = append(f.halves, x)
		return
	}
	f.blocks = append(f.blocks, x)
	for a := x.Addr(); x.Contains(a); a = a.Next() {
		six := netip.Addr{}
		if paired {
			six = sixOf(f.six, a)
		}
		if at.usable(a) && !slices.Contains(first, a) && !slices.Contains(first, six) {
			f.add(at, a, six)
		}
	}
}

// blockOf is the block that has an address; the zero value if none has.
func (f further) blockOf(a netip.Addr) netip.Prefix {
	for _, b := range f.blocks {
		if b.Contains(a) {
			return b
		}
	}
	return netip.Prefix{}
}

// roomForBlock reports whether the NIC may have another block, with the IPv6 prefix that it needs.
func (f further) roomForBlock(l Limits, paired bool) bool {
	return 1+f.fours < l.Fours && (!paired || f.six.IsValid() || 1+f.sixes < l.Sixes) && len(f.whole)+blockSize <= heddle.MaxFurther
}

// blocksFor is how many blocks are asked for at once to get so many more sets: as many as there is room for, of IPv4 addresses and of sets.
func (f further) blocksFor(l Limits, more int) int {
	return min((more+blockSize-1)/blockSize, maxAtOnce, l.Fours-1-f.fours, (heddle.MaxFurther-len(f.whole))/blockSize)
}

// singlesFor is blocksFor for addresses that are assigned one by one.
func (f further) singlesFor(l Limits, paired bool, more int) int {
	count := min(more, maxAtOnce, l.Fours-1-f.fours)
	if paired {
		count = min(count, l.Sixes-1-f.sixes)
	}
	return count
}

// roomForSingle reports whether the NIC may have another address of each family.
func (f further) roomForSingle(l Limits, paired bool) bool {
	return 1+f.fours < l.Fours && (!paired || 1+f.sixes < l.Sixes) && len(f.whole) < heddle.MaxFurther
}

// hasRoom reports whether the NIC can get another set. prefixes says that it is to get prefixes, and crumbled that its subnet has none that is free.
func (f further) hasRoom(l Limits, paired, prefixes, crumbled bool) bool {
	return len(f.half) > 0 || f.roomForSingle(l, paired) || !crumbled && (len(f.halves) > 0 || prefixes && f.roomForBlock(l, paired))
}

// setsEach is how many sets of further addresses a NIC may have.
func (p *Provider) setsEach(l Limits) int {
	if !p.settings.Prefixes || l.NoPrefixes != "" {
		return l.sets()
	}
	return max(l.sets(), min(max(0, l.Fours-1), heddle.MaxFurther/blockSize)*blockSize)
}

// isCrumbled reports whether a subnet had no free prefix a short time ago, and crumble notes that.
func (p *Provider) isCrumbled(subnet string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, is := p.crumbled[subnet]
	return is && time.Since(at) < crumbledTime
}

func (p *Provider) crumble(subnet string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.crumbled[subnet] = time.Now()
}
