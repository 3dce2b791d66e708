package fleet_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/guide"
)

// TestOverlayGuide types the guide.
func TestOverlayGuide(t *testing.T) {
	cell.Need(t)
	cell.Build(t, "heddled")
	bin := filepath.Dir(cell.Build(t, "heddle"))
	t.Cleanup(func() { cell.TrySh("PATH=%s:$PATH heddle lab down", bin) })
	guide.Typist{Fewest: 6, Limit: 5 * time.Minute, Path: bin}.Type(t, "overlay.md")
}
