package hardship_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/cell"
)

const bootID = "/proc/sys/kernel/random/boot_id"

// reboot gives the cell another boot id and takes all kernel objects away.
func reboot(t *testing.T, dir string) {
	t.Helper()
	file := filepath.Join(dir, "boot_id")
	cell.Must(t, os.WriteFile(file, []byte("11111111-2222-3333-4444-555555555555\n"), 0o444))
	cell.Must(t, unix.Mount(file, bootID, "", unix.MS_BIND, ""))
	t.Cleanup(func() { unix.Unmount(bootID, unix.MNT_DETACH) })
	wipe(t)
	cell.Sh(t, "ip netns del one; ip netns del two")
}

// TestReboot: networks come back, endpoints went with the kernel, and addresses
// go on where they were: the newest container has none that was just in use.
func TestReboot(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		for _, tmpfs := range []bool{false, true} {
			t.Run(map[bool]string{false: "run folder kept", true: "run folder emptied"}[tmpfs], func(t *testing.T) {
				dir := folder(t)
				a := cell.Start(t, dir)
				createNetwork(t, a, mode, 0)
				used := append(attach(t, a, 0, "one").Addrs, attach(t, a, 0, "two").Addrs...)
				before, err := a.Networks(ctx)
				cell.Must(t, err)
				a.Stop()
				reboot(t, dir)
				if tmpfs {
					cell.Must(t, os.RemoveAll(filepath.Join(dir, "run")))
				}
				a = cell.Start(t, dir)
				a.AuditEmpty(t)
				wantEndpoints(t, a, 0)
				after, err := a.Networks(ctx)
				cell.Must(t, err)
				if len(after) != 1 || after[0].ID != before[0].ID || after[0].Subnets[1] != before[0].Subnets[1] {
					t.Errorf("networks before %+v, after %+v", before, after)
				}
				comesBack(t, a, used)
			})
		}
	})
}

// comesBack attaches the same container again, and another one.
func comesBack(t *testing.T, a *cell.Agent, used []netip.Prefix) {
	t.Helper()
	fresh := attach(t, a, 0, "three")
	for _, have := range fresh.Addrs {
		for _, old := range used {
			if have == old {
				t.Errorf("%s is given out again at once", have)
			}
		}
	}
	one := attach(t, a, 0, "one")
	end := startPing(t, "three", one)
	end()
	a.AuditEmpty(t)
}
