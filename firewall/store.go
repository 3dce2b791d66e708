package firewall

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

// storeChains keep containers from the store and the door of this host and of its
// peers, which are for hosts: at any address of this one, and at the peers' underlay
// addresses, also where the container would arrive there as this host. A container on
// the LAN reaches the peers there, which no rule here sees: of macvlan, ipvlan, or with
// a NIC of its own (direct), which reaches this host by the LAN, too. Nor is a macvlan
// container without the host's access met here: the kernel keeps it from the host.
func storeChains() []heddle.Firewall {
	ports := fmt.Sprintf("tcp dport %d-%d ", heddle.DoorPort, heddle.StorePeerPort)
	pods := `iifname { "` + heddle.PrefixBridge + `*", "` + heddle.PrefixPort + `*", "` + heddle.PrefixShim + `*", "` + heddle.PrefixSlave + `*" } `
	return []heddle.Firewall{
		chain("inet", "store-input", "type filter hook input priority filter - 9; policy accept;",
			ports+pods+Drop("isolated"),
			ports+"iifname . ether saddr @beside "+Drop("isolated"),
			// by the loopback, but not from the host: an ipvlan container for which the
			// host routes (sub-modes l3, l3s)
			ports+`iifname "lo" fib saddr type != local `+Drop("isolated")),
		chain("inet", "store-forward", "type filter hook forward priority filter - 9; policy accept;",
			ports+pods+"ip daddr @hosts4 "+Drop("isolated"),
			ports+pods+"ip6 daddr @hosts6 "+Drop("isolated")),
	}
}
