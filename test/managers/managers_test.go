// Package managers_test has NICs plugged into a machine in which systemd-networkd, NetworkManager, cloud-init and udev all look for
// NICs, and sees that they leave those of containers alone.
package managers_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
)

func TestMain(m *testing.M) {
	lab.Dispatch(os.Args[1:])
	os.Exit(cell.Main(m))
}

// TestSoakManagers: all four managers take a NIC that is not heddle's, and none touches a container's in 100 plugs.
func TestSoakManagers(t *testing.T) {
	soak.Need(t, "boots a whole Debian under emulation, and plugs for a quarter of an hour: make vm-managers")
	m := raise(t)
	m.run(t, "heddle network create fast --mode direct --opt plug=lan")
	takeOther(t, m)
	if t.Failed() {
		t.FailNow() // what the rounds do not see may be there
	}
	leaveOwn(t, m)
	rounds(t, m, "fast", 80)
	m.run(t, "heddle network create quick --mode direct --opt plug=lan --opt warm=2")
	rounds(t, m, "quick", 20)
	m.run(t, "heddle network delete quick; heddle network delete fast")
	m.run(t, "for i in $(seq 30); do heddle audit >/dev/null && break; sleep 1; done; heddle audit") // a machine as slow as this one may need longer to let a NIC go than a detach waits
	m.hv.Heddle(t, "audit")
}

// takeOther plugs in a NIC that is not heddle's: each manager takes it, and the watch sees what each does.
func takeOther(t *testing.T, m *machine) {
	t.Helper()
	m.tell(t, otherMAC)
	s := m.watch(t, func() {
		m.plugOther(t)
		// cloud-init's hook comes last: it asks the cloud, and then ifupdown for an address
		m.run(t, "tries=120; until grep -q enp4s0 /etc/network/interfaces.d/50-cloud-init; do tries=$((tries - 1)); [ $tries -gt 0 ] || exit 1; sleep 1; done")
		m.run(t, "while systemctl is-active -q cloud-init-hotplugd; do sleep 1; done")
	})
	seen := strings.Join(s.touched, "\n")
	for manager, does := range map[string]string{
		"udev":              ": enp4s0: <",
		"systemd-networkd":  "said: enp4s0: Configuring with /etc/systemd/network/90-all.network.",
		"NetworkManager":    "said: Wired connection 1: connection profile created", // which it does not use if systemd-networkd was there first
		"cloud-init":        "said: args=--subsystem=net handle",
		"cloud-init's file": "/etc/network/interfaces.d/50-cloud-init",
		"an address":        "inet 10.0.2.15/24",
		"udev's events":     "udev event: UDEV",
	} {
		if !strings.Contains(seen, does) {
			t.Errorf("%s does nothing to a NIC that is not heddle's: the watch saw\n%s", manager, seen)
		}
	}
	m.tell(t, "")
	m.unplugOther(t)
	m.run(t, "sleep 5; while systemctl is-active -q cloud-init-hotplugd; do sleep 1; done")
	t.Logf("a NIC that is not heddle's: %d messages of the kernel's, %d events of udev's, touched %d times", s.links, s.events, len(s.touched))
}

// leaveOwn makes and deletes a link that is named like the agent's own: no manager takes it, and cloud-init's hook does not run.
func leaveOwn(t *testing.T, m *machine) {
	t.Helper()
	s := m.watch(t, func() {
		m.run(t, "ip link add "+own+"0123456789 type dummy && udevadm settle && ip link delete "+own+"0123456789 && udevadm settle; sleep 2")
	})
	if len(s.touched) > 0 {
		t.Errorf("a link of the agent's own: %s", strings.Join(s.touched, "\n"))
	}
}

// rounds attaches a namespace to a network, and detaches it or lets it end, that many times.
func rounds(t *testing.T, m *machine, network string, count int) {
	t.Helper()
	start, ended := time.Now(), 0
	s := m.watch(t, func() {
		macs := map[string]bool{}
		first := ""
		for i := range count {
			e := m.attach(t, network)
			macs[string(e.MAC)] = true
			inside := m.inside(t, e)
			if first == "" {
				first = inside
			}
			if inside != first {
				t.Errorf("round %d: the container's NIC is\n%s\nand was in the first round\n%s", i, inside, first)
			}
			switch i % 5 {
			case 2:
				m.run(t, disguise)
				fallthrough
			default:
				m.run(t, "heddle detach w && ip netns delete w")
			case 4:
				ended++
				m.run(t, endContainer)
			}
		}
		found, _, _ := strings.Cut(first, "ipv4/conf")
		t.Logf("network %s: %d MAC addresses; the first round found the NIC as\n%s", network, len(macs), found)
	})
	if len(s.touched) > 0 {
		t.Errorf("network %s: touched %d times:\n%s", network, len(s.touched), strings.Join(s.touched, "\n"))
	}
	if s.links < 4*count || s.events < 4*count { // it comes, goes into the container, comes back and goes
		t.Errorf("network %s: the watch saw %d messages of the kernel's and %d events of udev's in %d rounds", network, s.links, s.events, count)
	}
	t.Logf("network %s: %d rounds, %d of which the container ended, in %.0f s: %d messages of the kernel's, %d events of udev's, touched %d times",
		network, count, ended, time.Since(start).Seconds(), s.links, s.events, len(s.touched))
}
