package modes_test

import (
	"context"
	"testing"

	"github.com/heddle-network/heddle/test/world"
)

// TestMacvlanAgain: a container that died, and whose namespace the kernel is
// still taking down, may have its address and MAC address again at once.
func TestMacvlanAgain(t *testing.T) {
	w := world.New(t)
	w.Network(t, "lan", "macvlan", onLAN)
	for range 60 {
		ns := world.NewNetns(t, "a")
		request := w.Request(ns, "lan", world.IP("192.0.2.130"), world.MAC("0a:00:00:00:00:07"))
		if _, err := w.Attach(context.Background(), request); err != nil {
			t.Fatal(err)
		}
		ns.Delete()
		if _, err := w.Detach(context.Background(), request.ID); err != nil {
			t.Fatal(err)
		}
	}
}
