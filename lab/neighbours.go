package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// neighbours is how many entries a lab of n hosts has in one family's neighbour table
// when each speaks with each.
func neighbours(n int) int { return n * (n - 1) }

// tellNeighbours says so if the machine's neighbour tables are too small for the
// lab: the kernel has one table for all network namespaces together, and drops packets to
// whom it has no room for (gc_thresh3, arp(7)).
func (t Topology) tellNeighbours() {
	for _, family := range []string{"ipv4", "ipv6"} {
		file := filepath.Join("/proc/sys/net", family, "neigh/default/gc_thresh3")
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		room, err := strconv.Atoi(strings.TrimSpace(string(b)))
		// Half of it is left to containers, and to whatever else the machine does.
		if need := 2 * neighbours(len(t.Hosts)); err == nil && need > room {
			t.Progress(fmt.Sprintf("warning: %d hosts that all speak with each other may fill the machine's table of %s neighbours (%d entries): sysctl -w net.%s.neigh.default.gc_thresh3=%d",
				len(t.Hosts), family, room, family, max(16384, need)))
		}
	}
}
