package managers_test

import (
	"strings"
	"testing"
)

// What the kernel and udev say of a NIC that is left alone: it comes, goes into the container, and comes back.
const (
	aloneIP = `2: enp0s2: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc fq_codel state UP group default \    link/ether 52:54:00:00:00:02 brd ff:ff:ff:ff:ff:ff
2: enp0s2    inet 192.0.2.2/24 brd 192.0.2.255 scope global enp0s2\       valid_lft forever preferred_lft forever
3: eth0: <BROADCAST,MULTICAST> mtu 1500 qdisc noop state DOWN group default \    link/ether 0a:3e:9d:8e:b6:79 brd ff:ff:ff:ff:ff:ff
Deleted 3: eth0: <BROADCAST,MULTICAST> mtu 1500 qdisc noop state DOWN group default \    link/ether 0a:3e:9d:8e:b6:79 brd ff:ff:ff:ff:ff:ff new-netns w new-ifindex 3
3: hn0a3e9d8eb679: <BROADCAST,MULTICAST> mtu 1500 qdisc noop state DOWN group default \    link/ether 0a:3e:9d:8e:b6:79 brd ff:ff:ff:ff:ff:ff
4: hcff0d4c493d@eth0: <BROADCAST,MULTICAST,M-DOWN> mtu 1500 qdisc noop state DOWN group 1744830464 \    link/ether 0a:3e:9d:8e:b6:79 brd ff:ff:ff:ff:ff:ff
`
	aloneUdev = `UDEV  [101.878103] add      /devices/pci0000:00/0000:00:1e.0/0000:01:00.0/virtio3/net/eth0 (net)
ACTION=add
INTERFACE=eth0
IFINDEX=3
NM_UNMANAGED=1
HEDDLE_NIC=0a:3e:9d:8e:b6:79

UDEV  [106.123418] add      /devices/virtual/net/hcff0d4c493d (net)
ACTION=add
INTERFACE=hcff0d4c493d
IFINDEX=4
`
	aloneSaid = "NetworkManager is running\neth0: device created\nhcff0d4c493d: device removed\n"
)

// TestLook: what managers do is seen, one by one.
func TestLook(t *testing.T) {
	if s := look(aloneIP, aloneUdev, aloneSaid); len(s.touched) > 0 || s.links != 3 || s.events != 1 {
		t.Errorf("of a NIC that is left alone: %+v", s)
	}
	change := func(text, from, to string) string {
		changed := strings.ReplaceAll(text, from, to)
		if changed == text {
			t.Errorf("no %q", from)
		}
		return changed
	}
	const third = "3: eth0: <BROADCAST,MULTICAST> "
	for what, s := range map[string]sight{
		"raised":           look(change(aloneIP, third, "3: eth0: <BROADCAST,MULTICAST,UP> "), aloneUdev, aloneSaid),
		"renamed":          look(change(aloneIP, third, "3: enp1s0: <BROADCAST,MULTICAST> "), aloneUdev, aloneSaid),
		"in a bridge":      look(change(aloneIP, third+"mtu 1500 ", third+"mtu 1500 master br0 "), aloneUdev, aloneSaid),
		"another MTU":      look(change(aloneIP, third+"mtu 1500", third+"mtu 9000"), aloneUdev, aloneSaid),
		"a second name":    look(change(aloneIP, "\n4: hc", `\    altname enp1s0`+"\n4: hc"), aloneUdev, aloneSaid),
		"an address":       look(aloneIP+`3: eth0    inet6 fe80::1/64 scope link \       valid_lft forever preferred_lft forever`, aloneUdev, aloneSaid),
		"not marked":       look(aloneIP, change(aloneUdev, "HEDDLE_NIC", "OTHER"), aloneSaid),
		"given to another": look(aloneIP, change(aloneUdev, "NM_UNMANAGED", "OTHER"), aloneSaid),
		"told cloud-init":  look(aloneIP, aloneUdev, aloneSaid+"args=--subsystem=net handle --devpath=/x --udevaction=remove"),
		"configured":       look(aloneIP, aloneUdev, aloneSaid+"eth0: Configuring with /etc/systemd/network/90-all.network."),
		"a connection":     look(aloneIP, aloneUdev, aloneSaid+"eth0: using connection 'Wired connection 1'"),
	} {
		if len(s.touched) == 0 {
			t.Errorf("%s: nothing is seen", what)
		}
	}
}
