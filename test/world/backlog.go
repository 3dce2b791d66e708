package world

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// Spilled is how many packets the machine's processors have dropped since it started,
// because more waited for one of them than may (net.core.netdev_max_backlog; the second
// column of /proc/net/softnet_stat, in net/core/net-procfs.c). They are of any namespace:
// a flood in one loses packets of all others.
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
