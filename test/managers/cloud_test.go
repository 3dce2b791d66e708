package managers_test

import (
	"encoding/json"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
)

// The MAC addresses of the machine's own NIC, and of one that is not heddle's.
const (
	ownMAC   = "52:54:00:00:00:02"
	otherMAC = "52:54:00:00:00:99"
)

// makeCloud makes what an OpenStack tells a machine (docs.openstack.org/nova/latest/user/metadata.html), as files.
func (m *machine) makeCloud(t *testing.T) {
	t.Helper()
	m.write(t, "cloud/openstack/index.html", "latest\n")
	m.write(t, "cloud/openstack/latest/meta_data.json", `{"uuid": "managers", "hostname": "machine"}`)
	m.write(t, "cloud/openstack/latest/user_data", "#cloud-config\nupdates: {network: {when: [boot, hotplug]}}\n")
	m.write(t, "cloud/latest/meta-data/index.html", "") // Amazon's, which cloud-init reads beside
	m.tell(t, "")
}

// tell has the cloud tell the machine of its own NIC, and of one more if it is given.
func (m *machine) tell(t *testing.T, more string) {
	t.Helper()
	type object = map[string]any
	links := []object{{"id": "own", "type": "phy", "ethernet_mac_address": ownMAC}}
	networks := []object{{"id": "own", "link": "own", "type": "ipv4", "ip_address": "192.0.2.2", "netmask": "255.255.255.0",
		"routes": []object{{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "192.0.2.1"}}}}
	if more != "" {
		links = append(links, object{"id": "more", "type": "phy", "ethernet_mac_address": more})
		networks = append(networks, object{"id": "more", "link": "more", "type": "ipv4_dhcp"})
	}
	text, err := json.Marshal(object{"links": links, "networks": networks, "services": []object{}})
	cell.Must(t, err)
	m.write(t, "cloud/openstack/latest/network_data.json", string(text))
}
