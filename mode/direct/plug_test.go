package direct

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/commands"
)

// TestWarm: option warm is a number, or the least and the most, beside option plug.
func TestWarm(t *testing.T) {
	for value, want := range map[string][2]int{"": {0, 0}, "0": {0, 0}, "3": {3, 3}, "2-8": {2, 8}, "0-64": {0, 64}, "5-5": {5, 5}} {
		n := heddle.Network{Name: "n", Options: map[string]string{"plug": "lan", "warm": value}}
		if least, most := (Mode{}).WarmNICs(n); [2]int{least, most} != want {
			t.Errorf("warm=%s: %d to %d", value, least, most)
		}
		if err := (Mode{}).Check(heddle.HostFacts{}, n); err != nil {
			t.Errorf("warm=%s: %v", value, err)
		}
	}
	for _, value := range []string{"8-2", "-1", "65", "2-65", "2-", "-", "a", "1-2-3", " 1"} {
		n := heddle.Network{Name: "n", Options: map[string]string{"plug": "lan", "warm": value}}
		if err := (Mode{}).Check(heddle.HostFacts{}, n); heddle.BadOption.In(err) == nil || !strings.Contains(err.Error(), "2-8") {
			t.Errorf("warm=%s: %v", value, err)
		}
	}
	alone := heddle.Network{Name: "n", Parent: "eth1", Options: map[string]string{"warm": "2-8"}}
	if err := (Mode{}).Check(heddle.HostFacts{Links: []heddle.LinkFact{{Name: "eth1"}}}, alone); heddle.BadOption.In(err) == nil {
		t.Errorf("without plug: %v", err)
	}
}

// TestDriver: a program drives NICs by one driver, which are plugged in and do not wait; nothing of such a NIC is in the container.
func TestDriver(t *testing.T) {
	for options, good := range map[[3]string]bool{{"lan", "vfio-pci", ""}: true, {"lan", "uio_pci_generic", ""}: false, {"lan", "", ""}: false, {"", "vfio-pci", ""}: false, {"lan", "vfio-pci", "2"}: false} {
		n := heddle.Network{Name: "n", Options: map[string]string{"driver": options[1]}}
		for i, key := range []string{0: "plug", 2: "warm"} {
			if key != "" && options[i] != "" {
				n.Options[key] = options[i]
			}
		}
		if options[0] == "" {
			n.Parent = "eth1"
		}
		err := Mode{}.Check(heddle.HostFacts{Links: []heddle.LinkFact{{Name: "eth1"}}}, n)
		if good != (err == nil) || !good && heddle.BadOption.In(err) == nil {
			t.Errorf("%v: %v", n.Options, err)
		}
	}
	device := &heddle.NICDevice{Address: "0000:05:00.0", Driver: "vfio-pci", Group: 7}
	e := heddle.Endpoint{ID: heddle.EndpointID{Container: "c", IfName: "eth0"}, Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")},
		NIC: &heddle.NIC{Name: "eth5", MAC: "0a:00:00:00:00:01", Device: device, Plugged: &heddle.PluggedNIC{Token: "e-1", Gateways: []netip.Addr{netip.MustParseAddr("192.0.2.253")}}}}
	plan, err := Mode{}.Endpoint(heddle.HostFacts{}, heddle.Network{Name: "n", Mode: "direct"}, e)
	if err != nil || len(plan.Pod.NICs) != 1 || len(plan.Pod.Addresses)+len(plan.Pod.Routes) > 0 || e.NIC.HasDefault() {
		t.Fatalf("%+v, %v", plan, err)
	}
	for _, lines := range [][]string{commands.Of(plan, "c"), commands.Removal(plan, "c", nil)} {
		if text := strings.Join(lines, "\n"); !strings.Contains(text, "/sys/bus/pci/devices/0000:05:00.0/driver_override") || strings.Contains(text, "link set eth5") {
			t.Errorf("the commands are\n%s", text)
		}
	}
}

// TestLeased: the address of a NIC that is plugged in may come from a DHCP server, but not if a program drives the NIC, or it waits.
func TestLeased(t *testing.T) {
	for option, remedy := range map[string]string{"": "", "driver=vfio-pci": "leave --opt driver out", "warm=2": "leave --opt warm out"} {
		n := heddle.Network{Name: "n", Mode: "direct", Options: map[string]string{"plug": "lan", "addresses": "dhcp"}}
		if key, value, more := strings.Cut(option, "="); more {
			n.Options[key] = value
		}
		err := Mode{}.Check(heddle.HostFacts{}, n)
		if (err == nil) != (remedy == "") || err != nil && (heddle.BadOption.In(err) == nil || !strings.Contains(err.Error(), remedy)) {
			t.Errorf("%s: %v", option, err)
		}
	}
	n := heddle.Network{Name: "n", Mode: "direct", Options: map[string]string{"plug": "lan", "addresses": "dhcp"}}
	e := heddle.Endpoint{ID: heddle.EndpointID{Container: "c", IfName: "eth0"}, DefaultRoute: true, NIC: &heddle.NIC{Name: "eth5", MAC: "0a:00:00:00:00:01",
		Plugged: &heddle.PluggedNIC{Token: "e-1", Passes: []netip.Prefix{netip.MustParsePrefix("192.0.2.7/16")}, Gateways: []netip.Addr{netip.MustParseAddr("192.0.2.253")}, Closed: []netip.Prefix{netip.MustParsePrefix("100.100.100.200/32")}}}}
	before, err := Mode{}.Endpoint(heddle.HostFacts{}, n, e)
	if err != nil || len(before.Pod.Addresses)+len(before.Pod.Routes) > 0 {
		t.Errorf("without a lease: %+v, %v", before.Pod, err)
	}
	e = e.WithDHCP(heddle.DHCPLease{Held: true, Address: netip.MustParsePrefix("192.0.2.7/24"), Router: netip.MustParseAddr("192.0.2.1")})
	after, err := Mode{}.Endpoint(heddle.HostFacts{}, n, e)
	if r := after.Pod.Routes; err != nil || len(after.Pod.Addresses) != 1 || after.Pod.Addresses[0].Prefix.Bits() != 24 || len(r) != 2 || r[0].Type != "unreachable" || r[1].Via != e.DHCP.Router {
		t.Errorf("with one: %+v, %v", after.Pod, err)
	}
}
