package hardship_test

import (
	"os"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
)

// TestOwnProcesses: the first process that these tests see is of this program, so their
// agents see none of other tests'.
func TestOwnProcesses(t *testing.T) {
	cell.Need(t)
	first, err := os.Stat("/proc/1/exe")
	cell.Must(t, err)
	own, err := os.Stat("/proc/self/exe")
	cell.Must(t, err)
	if !os.SameFile(first, own) {
		t.Error("process 1 is another program")
	}
}
