package netavark

import (
	"encoding/json"
	"net/netip"

	"github.com/heddle-network/heddle"
)

// network is what the door reads of Podman's network (netavark, types.Network). Its id is Podman's
// own. Unknown members are allowed: programs write these documents, and newer ones write more.
type network struct {
	Name string `json:"name"`
	// Parent is what podman network create --interface-name gives, for Podman's macvlan the parent.
	Parent  string   `json:"network_interface"`
	Subnets []subnet `json:"subnets"`
	// IPv6 is podman network create --ipv6.
	IPv6     bool              `json:"ipv6_enabled"`
	Internal bool              `json:"internal"`
	DNS      bool              `json:"dns_enabled"`
	Options  map[string]string `json:"options"`
	IPAM     map[string]string `json:"ipam_options"`
	Routes   []json.RawMessage `json:"routes"`
	// NameServers are those that Podman's own name server would ask.
	NameServers []string `json:"network_dns_servers"`
}

// subnet is one of types.Subnet.
type subnet struct {
	Subnet  netip.Prefix `json:"subnet"`
	Gateway netip.Addr   `json:"gateway,omitzero"`
	Lease   *lease       `json:"lease_range,omitempty"`
}

// lease is types.LeaseRange: the first and last address to give out.
type lease struct {
	First netip.Addr `json:"start_ip,omitzero"`
	Last  netip.Addr `json:"end_ip,omitzero"`
}

// execution is the document of setup and teardown (types.NetworkPluginExec).
type execution struct {
	Container string  `json:"container_id"`
	Name      string  `json:"container_name"`
	Ports     []port  `json:"port_mappings"`
	Network   network `json:"network"`
	Endpoint  struct {
		Aliases []string          `json:"aliases"`
		IfName  string            `json:"interface_name"`
		IPs     []netip.Addr      `json:"static_ips"`
		MAC     string            `json:"static_mac"`
		Options map[string]string `json:"options"`
	} `json:"network_options"`
}

func (x execution) id() heddle.EndpointID {
	return heddle.EndpointID{Container: x.Container, IfName: x.Endpoint.IfName}
}

// port is types.PortMapping: Range ports from HostPort and ContainerPort on, 0 counting as 1.
// Protocol is a list with commas, tcp if empty.
type port struct {
	ContainerPort uint16 `json:"container_port"`
	HostIP        string `json:"host_ip"`
	HostPort      uint16 `json:"host_port"`
	Protocol      string `json:"protocol"`
	Range         uint16 `json:"range"`
}

// status is the answer to setup (types.StatusBlock).
type status struct {
	Search     []string              `json:"dns_search_domains"`
	Resolvers  []netip.Addr          `json:"dns_server_ips"`
	Interfaces map[string]netIfState `json:"interfaces"`
}

// netIfState is types.NetInterface.
type netIfState struct {
	MAC     heddle.MAC   `json:"mac_address"`
	Subnets []netAddress `json:"subnets"`
}

// netAddress is types.NetAddress: IPNet is the address with the length of its subnet's prefix.
type netAddress struct {
	Gateway *netip.Addr  `json:"gateway"`
	IPNet   netip.Prefix `json:"ipnet"`
}

// failure is the answer that is an error (plugin-API.md, Error handling).
type failure struct {
	Error string `json:"error"`
}

// decode reads a document of a subcommand.
func decode(body []byte, document any) error {
	if err := json.Unmarshal(body, document); err != nil {
		return heddle.Wrap(heddle.BadJSON, "decode document of netavark", "", err, "use a Podman whose netavark has the plugin API "+apiVersion)
	}
	return nil
}
