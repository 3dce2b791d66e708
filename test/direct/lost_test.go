package direct_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestLostLedger loses the record of a container's NIC. The agent leaves it
// alone, says so, and gc brings it back under its name.
func TestLostLedger(t *testing.T) {
	cell.Need(t)
	newNIC(t, "nic1", 1)
	dir := t.TempDir()
	a := cell.Start(t, dir)
	n := heddle.Network{Name: "lan", Mode: "direct", Parent: "nic1"}
	_, _, err := a.CreateNetwork(ctx, n, false)
	cell.Must(t, err)
	pod := cell.Netns(t, "c1")
	req := heddle.AttachRequest{Network: "lan", ID: heddle.EndpointID{Container: "c1", IfName: "eth0"}, Netns: pod, Force: true}
	_, err = a.Attach(ctx, req)
	cell.Must(t, err)
	a.Kill()
	cell.Must(t, os.Remove(filepath.Join(dir, "run", "ledger.db")))
	a = cell.Start(t, dir)
	cell.Sh(t, "ip -n c1 address show eth0 | grep 10.51.0.2") // it lives on
	found, err := a.Audit(ctx)
	cell.Must(t, err)
	if len(found) == 0 || !strings.HasPrefix(found[0].Object, "hold/") {
		t.Errorf("audit: %+v", found)
	}
	removed, err := a.GC(ctx, "", nil)
	cell.Must(t, err)
	if len(removed) == 0 || !strings.HasPrefix(removed[0], "hold/") {
		t.Errorf("removed %v", removed)
	}
	cell.Sh(t, "ip link show nic1 | grep 02:00:00:00:01:01; test -z \"$(ip link show nic1 | grep alias)\"")
	a.AuditEmpty(t)
	// as the kernel puts a physical one back
	cell.Sh(t, "ip link set nic1 name eth7; ip link set eth7 alias 'heddle-nic was=nic1 endpoint=c1/eth0'")
	if found, err := a.Audit(ctx); err != nil || len(found) != 1 || found[0].Object != "nic/eth7" {
		t.Errorf("audit: %+v %v", found, err)
	}
	_, err = a.GC(ctx, "", nil)
	cell.Must(t, err)
	cell.Sh(t, "ip link show nic1 | grep 02:00:00:00:01:01")
	cell.Must(t, a.DeleteNetwork(ctx, "lan"))
	a.AuditEmpty(t)
	if out := cell.Sh(t, "grep netns/ /proc/mounts | grep %s || true", dir); out != "" {
		t.Errorf("still mounted: %s", out)
	}
}

// TestManagersKeptOff: while a container has the NIC, the host's NIC managers
// are told so by its MAC address; before and after there is nothing.
func TestManagersKeptOff(t *testing.T) {
	cell.Need(t)
	newNIC(t, "nic1", 1)
	cell.Sh(t, "mkdir -p /run/NetworkManager /run/udev /run/systemd/netif")
	t.Cleanup(func() { cell.TrySh("rm -r /run/NetworkManager /run/udev /run/systemd") })
	look := func() string { return cell.Sh(t, "find /run -name '*heddle*02-00-00-00-01-01*' | sort") }
	dir := t.TempDir()
	a := cell.Start(t, dir)
	_, _, err := a.CreateNetwork(ctx, heddle.Network{Name: "lan", Mode: "direct", Parent: "nic1"}, false)
	cell.Must(t, err)
	req := heddle.AttachRequest{Network: "lan", ID: heddle.EndpointID{Container: "c1", IfName: "eth0"}, Netns: cell.Netns(t, "c1"), Force: true}
	_, err = a.Attach(ctx, req)
	cell.Must(t, err)
	if have := look(); strings.Count(have, "\n") != 3 {
		t.Errorf("files: %s", have)
	}
	a.Kill()
	a = cell.Start(t, dir)
	if have := look(); strings.Count(have, "\n") != 3 {
		t.Errorf("files after a crash: %s", have)
	}
	_, err = a.Detach(ctx, req.ID)
	cell.Must(t, err)
	if have := look(); have != "" {
		t.Errorf("left: %s", have)
	}
	cell.Sh(t, "echo > /run/udev/rules.d/00-heddle-02-00-00-00-01-01.rules")
	if found, err := a.Audit(ctx); err != nil || len(found) != 1 || found[0].Object != "managers/02:00:00:00:01:01" {
		t.Errorf("audit: %+v %v", found, err)
	}
	_, err = a.GC(ctx, "", nil)
	cell.Must(t, err)
	cell.Must(t, a.DeleteNetwork(ctx, "lan"))
	a.AuditEmpty(t)
}

// TestHoldUndone: somebody unmounts what the agent holds. It holds again; and
// without it a detach finds the NIC all the same.
func TestHoldUndone(t *testing.T) {
	w := world.New(t)
	newNIC(t, "nic1", 1)
	before := dump(t, "nic1")
	network(t, w, "lan", nil, "nic1")
	ns := world.NewNetns(t, "c1")
	for _, wait := range []bool{true, false} {
		pod := w.PodIn(t, ns, "lan")
		held := func() string {
			return strings.TrimSpace(cell.Sh(t, "grep -o '[^ ]*/netns/heddle-[0-9a-f]* ' /proc/mounts || true"))
		}
		cell.Must(t, kernel.Release(held()))
		if wait {
			world.Within(t, slowly, "another hold", func() error {
				if held() == "" {
					return errors.New("none")
				}
				return nil
			})
		}
		pod.Leave(t)
		same(t, "after the detach", before, func() string { return dump(t, "nic1") })
	}
}
