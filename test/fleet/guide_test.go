package fleet_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/guide"
	"github.com/heddle-network/heddle/test/soak"
)

func TestOverlayGuide(t *testing.T) {
	soak.Turn(t, 0)
	follow(t, "overlay.md", 6)
}

func TestWeaveGuide(t *testing.T) {
	soak.Turn(t, 1)
	follow(t, "from-weave.md", 4)
}

func TestFlannelGuide(t *testing.T) {
	soak.Turn(t, 2)
	follow(t, "from-flannel.md", 4)
}

// follow types a guide.
func follow(t *testing.T, name string, fewest int) {
	cell.Need(t)
	cell.Build(t, "heddled")
	cell.Build(t, "heddle-cni")
	bin := filepath.Dir(cell.Build(t, "heddle"))
	t.Cleanup(func() { cell.TrySh("PATH=%s:$PATH heddle lab down", bin) })
	guide.Typist{Fewest: fewest, Limit: 5 * time.Minute, Path: bin}.Type(t, name)
}
