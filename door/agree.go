package door

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// Agrees reports whether a network is what an engine remembers of it, which may not know the mode and
// the subnets.
func Agrees(remembered, is heddle.Network) bool {
	lacks := func(a, b heddle.Network) bool {
		return slices.ContainsFunc(a.Subnets, func(p netip.Prefix) bool { return !slices.Contains(b.Subnets, p) })
	}
	return (remembered.Mode == "" || remembered.Mode == is.Mode) && remembered.Internal == is.Internal &&
		(len(remembered.Subnets) == 0 || !lacks(remembered, is) && !lacks(is, remembered))
}
