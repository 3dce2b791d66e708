package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/heddle-network/heddle/nic"
)

// TestPlugsSettle: udev has seen a NIC before it goes to its container, before it is taken out, and before udev may have it.
func TestPlugsSettle(t *testing.T) {
	p, c := newPlugs(t)
	asked := filepath.Join(p.holds.root, "asked")
	for name, text := range map[string]string{"run/udev/control": "", "bin/udevadm": "#!/bin/sh\necho $1 >> " + asked + "\n"} {
		path := filepath.Join(p.holds.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(p.holds.root, "bin")+":"+os.Getenv("PATH"))
	if _, _, err := p.plug(t.Context(), nic.Order{Token: "e-1", Network: "lan", MAC: plugMAC}); err != nil {
		t.Fatal(err)
	}
	p.giveBack(t.Context(), "e-1", plugMAC)
	const want = "control\nsettle\nsettle\nsettle\ncontrol\ntrigger\n" // told; seen; seen to be back; seen to be gone, told, and asked again
	if b, _ := os.ReadFile(asked); string(b) != want || c.took() != "plug e-1, unplug e-1" {
		t.Errorf("udev was asked\n%s", b)
	}
}
