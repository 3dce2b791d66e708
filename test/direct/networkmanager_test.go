package direct_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/vm"
	"github.com/heddle-network/heddle/test/world"
)

// TestNetworkManager lets the real NetworkManager look on while a NIC goes and
// comes back: it leaves alone the one that it was told about, takes the other,
// and gets the first one back afterwards.
func TestNetworkManager(t *testing.T) {
	cell.Need(t)
	if vm.InGuest() {
		t.Skip("runs in a cell")
	}
	cell.Sh(t, "mount -t overlay -o lowerdir=%s/usr:/usr usr /usr", vm.Packages(t, "networkmanager"))
	t.Cleanup(func() { cell.Sh(t, "umount -l /usr") })
	startNetworkManager(t)
	lan := world.NewNetns(t, "c1")
	cell.Sh(t, `for i in 1 2; do ip link add nic$i address 02:00:00:00:0$i:01 type veth peer name far$i; ip link set far$i up; done`)
	t.Cleanup(func() { cell.TrySh("ip link del nic1; ip link del nic2") })
	managed := func(name string, want bool) error {
		out := devices(t)
		for _, line := range strings.Split(out, "\n") {
			if device, state, _ := strings.Cut(line, ":"); device == name && (state != "unmanaged") == want {
				return nil
			}
		}
		return fmt.Errorf("%s should be managed: %v\n%s", name, want, out)
	}
	world.Within(t, slowly, "NetworkManager's interest", func() error { return managed("nic1", true) })

	m := nic.Managers{Root: "/"}
	n := heddle.NIC{Name: "nic1", MAC: "02:00:00:00:01:01"}
	cell.Must(t, m.Keep(n))
	world.Within(t, slowly, "NetworkManager's retreat", func() error { return managed("nic1", false) })
	for range 2 { // gone and back, as a NIC comes back, beside one that is not ours
		cell.Sh(t, `ip link set nic1 netns c1 name eth0; ip link set nic2 netns c1 name eth2`)
		lan.Sh(t, "ip link set eth0 up; ip link set eth0 down")
		lan.Sh(t, "ip link set eth0 name nic1; ip link set nic1 netns %d; ip link set eth2 netns %d name nic2", os.Getpid(), os.Getpid())
		cell.Sh(t, "ip address add 10.51.0.2/24 dev nic1; ip link set nic1 up")
		world.Within(t, slowly, "NetworkManager's interest in the other", func() error { return managed("nic2", true) })
		for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			cell.Must(t, managed("nic1", false))
		}
		cell.Sh(t, "ip -4 address show nic1 | grep 10.51.0.2")
	}
	cell.Must(t, m.Free(n.MAC))
	world.Within(t, slowly, "NetworkManager's interest again", func() error { return managed("nic1", true) })
}

// devices is what NetworkManager says of its devices, once it says anything.
func devices(t *testing.T) (out string) {
	t.Helper()
	world.Within(t, slowly, "nmcli", func() (err error) {
		if out, err = cell.TrySh("nmcli -t -f DEVICE,STATE device"); err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	})
	return out
}

// startNetworkManager runs it in the cell, with a bus, configuration and state
// of its own. The read-only /sys tells it that there is no udev to wait for.
func startNetworkManager(t *testing.T) {
	t.Helper()
	cell.Sh(t, `for d in /var/lib/NetworkManager /etc/NetworkManager; do mkdir -p $d; mount -t tmpfs nm $d; done
		mount -t sysfs -o ro sysfs /sys
		mkdir -p /run/dbus /run/NetworkManager/conf.d /etc/NetworkManager/conf.d /etc/NetworkManager/system-connections
		printf '[main]\nplugins=keyfile\n' > /etc/NetworkManager/NetworkManager.conf`)
	t.Cleanup(func() {
		cell.TrySh("umount /sys /etc/NetworkManager /var/lib/NetworkManager; rm -r /run/NetworkManager /run/dbus")
	})
	for _, command := range [][]string{{"dbus-daemon", "--system", "--nofork", "--nopidfile"}, {"NetworkManager", "--no-daemon"}} {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		cell.Must(t, cmd.Start())
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
		if command[0] == "dbus-daemon" {
			world.Within(t, slowly, "the bus", func() error { _, err := os.Stat("/run/dbus/system_bus_socket"); return err })
		}
	}
	world.Within(t, slowly, "NetworkManager's answer", func() error {
		out, err := cell.TrySh("nmcli general status")
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	})
}
