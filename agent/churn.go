package agent

import "time"

const (
	// coolDown is how long a NIC rests that an endpoint has had. Neighbours hold an address for reachable for 30 s (RFC 4861, section 10:
	// REACHABLE_TIME), and clients of the former container may try its address for as long.
	coolDown = 30 * time.Second
	// churnTime is how long it is remembered that an endpoint took a NIC.
	churnTime = 10 * time.Minute
)

// poolTarget is how many NICs of a pool should be ready: as many as endpoints took within any 30 seconds of the last ten minutes, but at
// least least, and at most most. A NIC that was given back cannot serve again for so long. attaches are in the order of their times.
func poolTarget(least, most int, attaches []time.Time, now time.Time) int {
	attaches = recent(attaches, now)
	busiest, first := 0, 0
	for last, at := range attaches {
		for at.Sub(attaches[first]) >= coolDown {
			first++
		}
		busiest = max(busiest, last-first+1)
	}
	return min(max(busiest, least), most)
}

// recent are those of the attaches that are still remembered.
func recent(attaches []time.Time, now time.Time) []time.Time {
	for len(attaches) > 0 && now.Sub(attaches[0]) > churnTime {
		attaches = attaches[1:]
	}
	return attaches
}
