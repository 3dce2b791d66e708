package cell_test

import (
	"os"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

// TestOwnProcesses: the first process that tests see is of their own program, so their
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
