package firewall

import "github.com/heddle-network/heddle"

// What even modes with our firewall do not prevent, as 'heddle network show' prints it.
const (
	LimitMetadata = "a container reaches the host's own services, and whatever the host's routes reach, a cloud's metadata service (169.254.169.254) among it: keep it off with a forward rule of your own (docs/guides/other-firewalls.md)"
	LimitTables   = "no quotas: a container can fill the kernel's tables of tracked connections (nf_conntrack_max) and of neighbours (gc_thresh3), which are one for all; the containers' own entries are permanent and stay"
	LimitInside   = "its containers reach the host's own services: at the gateway's address, and with a route that they make themselves at the host's other addresses; keep them off with an input rule of your own"
	LimitPorts    = "with the host's address only TCP, UDP, UDP-Lite, DCCP, SCTP and ICMP leave the network: what has no ports (ESP, GRE) is dropped (counter shadowing); --opt masquerade=false lets it out with the container's own address"
	LimitFlush    = "when another program flushes the whole nftables ruleset, nothing is guarded until the agent has put it back, within a second"
	LimitUnderlay = "where its LAN leads to the cluster's underlay, a container can write what a tunnel of its host would (VXLAN with the host's address), into all networks that span hosts: no rule of the host tells the two apart; give the underlay a LAN of its own, or IPsec"
)

// Limits are the limits of a network behind our firewall; masquerade says whether its containers
// are hidden behind the host's address.
func Limits(n heddle.Network, masquerade bool) []string {
	switch {
	case n.Internal:
		return []string{LimitInside, LimitTables, LimitFlush}
	case masquerade:
		return []string{LimitMetadata, LimitTables, LimitPorts, LimitFlush}
	}
	return []string{LimitMetadata, LimitTables, LimitFlush}
}
