package fleet_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/guide"
)

func TestOverlayGuide(t *testing.T) { follow(t, "overlay.md", 6) }

func TestWeaveGuide(t *testing.T) { follow(t, "from-weave.md", 4) }

func TestFlannelGuide(t *testing.T) { follow(t, "from-flannel.md", 4) }

// follow types a guide.
func follow(t *testing.T, name string, fewest int) {
	cell.Need(t)
	cell.Build(t, "heddled")
	cell.Build(t, "heddle-cni")
	bin := filepath.Dir(cell.Build(t, "heddle"))
	t.Cleanup(func() { cell.TrySh("PATH=%s:$PATH heddle lab down", bin) })
	guide.Typist{Fewest: fewest, Limit: 5 * time.Minute, Path: bin}.Type(t, name)
}
