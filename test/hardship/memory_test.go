package hardship_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
)

// TestMemory: an agent with 300 endpoints stays small.
func TestMemory(t *testing.T) {
	soak.Turn(t, 2)
	eachMode(t, func(t *testing.T, mode string) {
		a := cell.Start(t, folder(t))
		createNetwork(t, a, mode, 0)
		empty := resident(t, a)
		for i := range 300 {
			attach(t, a, 0, fmt.Sprint("pod", i))
		}
		a.AuditEmpty(t)
		full := resident(t, a)
		t.Logf("resident: %d KiB empty, %d KiB with 300 endpoints, %.1f KiB each", empty, full, float64(full-empty)/300)
		if full > 100<<10 {
			t.Errorf("%d KiB are resident, want less than 100 MiB", full)
		}
	})
}

var vmRSS = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// resident is the agent's resident memory in KiB.
func resident(t *testing.T, a *cell.Agent) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.Pid()))
	cell.Must(t, err)
	m := vmRSS.FindSubmatch(status)
	if m == nil {
		t.Fatalf("no VmRSS:\n%s", status)
	}
	kib, err := strconv.Atoi(string(m[1]))
	cell.Must(t, err)
	return kib
}
