package world

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// Spilled returns how many packets the machine has dropped since boot because a CPU's backlog was
// full (net.core.netdev_max_backlog; second column of /proc/net/softnet_stat, see
// net/core/net-procfs.c). All namespaces count: a flood in one loses packets of the others.
func Spilled(t testing.TB) (packets uint64) {
	t.Helper()
	text, err := os.ReadFile("/proc/net/softnet_stat")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		n, err := strconv.ParseUint(strings.Fields(line)[1], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		packets += n
	}
	return packets
}
