package peer

import "slices"

// commonMTUs are path MTUs met in practice, in bytes: Ethernet less PPPoE, GRE, IPIP,
// WireGuard, VXLAN, IPsec; the clouds' jumbo frames and their tunnels.
var commonMTUs = []int{576, 1006, 1280, 1330, 1350, 1380, 1390, 1400, 1412, 1420, 1430, 1440, 1450, 1460, 1472, 1476, 1480, 1492, 1500,
	2000, 4352, 4470, 8500, 8850, 8896, 8900, 8950, 8980, 9000, 9001, 9198, 9216}

// partsPerRound is how many sizes are probed in a range that contains no common MTU.
const partsPerRound = 8

// sizesBetween lists, in ascending order, the sizes to probe when lo passes and hi does not: common
// MTUs, or sizes that divide the range into equal parts.
func sizesBetween(lo, hi int) []int {
	var some []int
	for _, size := range commonMTUs {
		if lo < size && size < hi {
			some = append(some, size)
		}
	}
	if len(some) > 0 {
		return some
	}
	parts := min(partsPerRound+1, hi-lo)
	for i := 1; i < parts; i++ {
		some = append(some, lo+(hi-lo)*i/parts)
	}
	return slices.Compact(some)
}
