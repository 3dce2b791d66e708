package doctor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/doctor"
	"github.com/heddle-network/heddle/mode"
	"github.com/heddle-network/heddle/test/soak"
)

// tries are the families of faults at which the checks were made that try something on a throw-away host.
// These are nine tenths of a visit's work, and such a host sees of the real one the kernel, its settings
// and its programs.
type tries map[string]bool

// throwAway are the checks of the family kernel that have a throw-away host; all of the family modes do.
var throwAway = []string{"nft-inet", "nft-nat", "nft-bridge", "nft-log"}

// among are the checks of one visit: all (no ids) for a fault of the kernel, of settings, of a mode, for the
// first of each other family, and in make soak for each fault. Otherwise they are those without a throw-away host.
func (done tries) among(t *testing.T, f fault) (ids []string) {
	t.Helper()
	all := doctor.Checks(mode.All())
	c, known := doctor.Find(all, f.id)
	if !known {
		t.Fatalf("no check is called %s", f.id)
	}
	near := c.Family == "kernel" || c.Family == "settings" || strings.Contains(f.others, "mode-")
	if soak.On() || near || !done[c.Family] {
		done[c.Family] = true
		return nil
	}
	for _, c := range all {
		if c.Family != "modes" && !slices.Contains(throwAway, c.ID) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}
