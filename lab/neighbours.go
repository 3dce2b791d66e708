package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// warnNeighbours warns if the machine's neighbour tables may be too small for the lab. All
// network namespaces share one table per family, and the kernel drops packets to neighbours
// that do not fit (gc_thresh3, arp(7)). If all hosts talk to each other, each needs an entry
// for every other one; as many are reserved for containers and the machine.
func (t Topology) warnNeighbours() {
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
