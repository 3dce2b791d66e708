package port

import (
	"net/netip"
	"testing"
)

// TestFree: nobody gets a port twice as long as the first one's test goes on, though nobody listens on it.
func TestFree(t *testing.T) {
	seen := map[netip.AddrPort]bool{}
	for range 500 {
		at := Free(t)
		if seen[at] {
			t.Fatalf("port %v is given out twice", at)
		}
		seen[at] = true
	}
}
