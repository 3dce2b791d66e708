package cluster

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// DefaultRanges are what networks may use in a cluster that was given no ranges: private
// addresses (RFC 1918) and unique local ones (RFC 4193). Shared address space (RFC 6598)
// is not included: it is the provider's, whose services are reached there by the default
// route.
var DefaultRanges = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("fc00::/7"),
}

// maxRanges is how many ranges a cluster may have.
const maxRanges = 64

// ParseRanges reads prefixes that are separated by commas; none give none.
func ParseRanges(text string) (all []netip.Prefix, err error) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		p, err := netip.ParsePrefix(word)
		if err != nil {
			return nil, heddle.Errorf(heddle.BadSubnet, "read address range", heddle.Clip(word), "it is not a prefix",
				"give it in CIDR form, such as 10.0.0.0/8")
		}
		all = append(all, p)
	}
	return all, CheckRanges(all)
}

// CheckRanges refuses ranges that no network may have, such as all addresses.
func CheckRanges(all []netip.Prefix) error {
	for _, p := range all {
		switch {
		case !p.IsValid() || p != p.Masked():
			return heddle.Errorf(heddle.BadSubnet, "check address range", p.String(),
				"it has host bits, or is not a prefix", "give it in CIDR form, without host bits, such as 10.0.0.0/8")
		case p.Bits() == 0 || p.Addr().Is4In6() || p.Addr().IsLoopback() || p.Addr().IsMulticast() || p.Addr().IsLinkLocalUnicast() || p.Addr().IsUnspecified():
			return heddle.Errorf(heddle.BadSubnet, "check address range", p.String(),
				"no network may have these addresses", "give a range of unicast addresses, and not all there are")
		}
	}
	if len(all) > maxRanges {
		return heddle.Errorf(heddle.BadSubnet, "check address ranges of the cluster", "",
			fmt.Sprintf("there are %d", len(all)), fmt.Sprintf("give at most %d", maxRanges))
	}
	return nil
}

// subnetOutside returns a subnet of the network that lies in none of the ranges.
func subnetOutside(ranges []netip.Prefix, n heddle.Network) (netip.Prefix, bool) {
	for _, s := range n.Subnets {
		if !slices.ContainsFunc(ranges, func(r netip.Prefix) bool { return r.Overlaps(s) && r.Bits() <= s.Bits() }) {
			return s, true
		}
	}
	return netip.Prefix{}, false
}

// SetRanges changes the ranges that the cluster's networks must be in; none stands for the
// default ones. The store must be an operator's. Existing networks must be in the new
// ranges.
func (c *Cluster) SetRanges(ctx context.Context, operator store.Store, all []netip.Prefix) error {
	if err := CheckRanges(all); err != nil {
		return err
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	for {
		if _, err := c.fenced(ctx); err != nil {
			return err
		}
		c.mu.Lock()
		found, revision := value[clusterRecord](&c.record, clusterKey), c.record.revisionOf(clusterKey)
		next := clusterRecord{}
		if found != nil {
			next = *found
		}
		next.Ranges = all
		stays := c.record.checkRanges(next)
		c.mu.Unlock()
		if stays != nil {
			return stays
		}
		done, at, err := operator.Commit(ctx, store.Change{Require: []store.Condition{{Key: clusterKey, Revision: revision}}, Put: []store.Entry{entry(clusterKey, next)}})
		if err != nil {
			return err
		}
		if done {
			return c.awaitRevision(ctx, at)
		}
		if err := c.awaitRevision(ctx, at); err != nil {
			return err
		}
	}
}

// checkRanges returns an error if a network would be outside the new ranges.
func (r *record) checkRanges(next clusterRecord) error {
	ranges := next.Ranges
	if len(ranges) == 0 {
		ranges = DefaultRanges
	}
	for _, i := range r.networks {
		n := i.value.(*heddle.Network)
		if s, out := subnetOutside(ranges, *n); out {
			return heddle.Errorf(heddle.SubnetOverlap, "change address ranges of the cluster", "", "network "+n.Name+" has the subnet "+s.String()+", which lies in none of them",
				"add a range that holds it, or delete the network first")
		}
	}
	return nil
}
