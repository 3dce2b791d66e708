package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tellNeighbours says so if the machine's neighbour tables are too small for the
// lab: the kernel has one table for all network namespaces together, and drops packets to
// whom it has no room for (gc_thresh3, arp(7)). Hosts that all speak with each other have
// an entry each for each other one; as much again is left to containers and the machine.
func (t Topology) tellNeighbours() {
	need := 2 * len(t.Hosts) * (len(t.Hosts) - 1)
	for _, family := range []string{"ipv4", "ipv6"} {
		file := filepath.Join("/proc/sys/net", family, "neigh/default/gc_thresh3")
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		room, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err == nil && need > room {
			t.Progress(fmt.Sprintf("warning: %d hosts that all speak with each other may fill the machine's table of %s neighbours (%d entries): sysctl -w net.%s.neigh.default.gc_thresh3=%d",
				len(t.Hosts), family, room, family, max(16384, need)))
		}
	}
}
