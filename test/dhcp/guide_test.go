package dhcp_test

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/guide"
)

func TestGuide(t *testing.T) {
	cell.Need(t)
	if _, err := exec.LookPath("dnsmasq"); err != nil {
		t.Skip("needs dnsmasq (Debian: dnsmasq-base)")
	}
	cell.Build(t, "heddled")
	bin := filepath.Dir(cell.Build(t, "heddle"))
	t.Cleanup(func() { cell.TrySh("PATH=%s:$PATH heddle lab down", bin) })
	guide.Typist{Fewest: 3, Limit: 5 * time.Minute, Path: bin}.Type(t, "dhcp.md")
}
