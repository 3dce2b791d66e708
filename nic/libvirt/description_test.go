package libvirt

import (
	"fmt"
	"strings"
	"testing"
)

// TestDescription: what is read of a domain's XML.
func TestDescription(t *testing.T) {
	const root, used = `<controller type='pci' index='%d' model='pcie-root-port'>%s</controller>`, `<%s><source><address type='pci' bus='0x2'/></source><address type='pci' bus='%s'/></%[1]s>`
	port := func(index int, inside string) string { return fmt.Sprintf(root, index, inside) }
	for _, c := range []struct {
		devices   string
		all, free int
		ids       string
		queues    int
	}{
		{"", 0, 0, "[]", 1},
		{port(1, "") + port(2, ""), 2, 2, "[]", 1},
		{port(1, "") + port(2, "<target hotplug='off'/>") + port(3, "<target hotplug='on'/>"), 2, 2, "[]", 1},
		{port(1, "") + port(16, "") + fmt.Sprintf(used, "hostdev", "0x10"), 2, 1, "[]", 1}, // a source's address is the host's
		{port(1, "") + "<disk><address type='drive' bus='1'/></disk>", 1, 1, "[]", 1},
		{"<controller type='pci' index='1' model='pcie-root'/><controller type='usb' index='2' model='pcie-root-port'/>", 0, 0, "[]", 1},
		{"<interface><alias name='ua-heddle-b'/></interface><interface><alias name='net0'/></interface><interface><alias name='ua-heddle-a'/></interface>" +
			"<disk><alias name='ua-heddle-c'/></disk>", 0, 0, "[a b]", 1},
		{"</devices><vcpu current='1'>4</vcpu><devices>" + strings.Repeat(port(5, ""), 40), 32, 32, "[]", 1},
		{"</devices><vcpu>2</vcpu><devices>" + strings.Repeat(port(5, ""), 40) + fmt.Sprintf(used, "hostdev", "0x5"), 40, 0, "[]", 2},
		{"</devices><vcpu current='3'>4</vcpu><devices>" + strings.Repeat(port(5, ""), 4), 4, 4, "[]", 3},
	} {
		d, err := parse("<domain id='7'><devices>" + c.devices + "</devices></domain>")
		must(t, err)
		all, free := d.slots()
		if all != c.all || free != c.free || fmt.Sprint(d.ids()) != c.ids || d.queues() != c.queues || d.ID != "7" {
			t.Errorf("%s: %d slots, %d free, NICs %v, id %s, %d pairs of queues", c.devices, all, free, d.ids(), d.ID, d.queues())
		}
	}
	if _, err := parse("<domain>"); err == nil {
		t.Error("half a domain was read")
	}
}
