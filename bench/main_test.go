package bench

import (
	"os"
	"testing"
)

// TestMain: the programs of Paced are this test program.
func TestMain(m *testing.M) {
	Dispatch(os.Args[1:])
	os.Exit(m.Run())
}
