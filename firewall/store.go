package firewall

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

// storeChains keep containers from the store and the door of this host and of its peers, which are
// for hosts only. They cover all addresses of this host, and the underlay addresses of the peers,
// also where the container would arrive at the peer as this host. No rule here sees packets of a
// container on the LAN to the peers there: a container of mode macvlan, ipvlan or direct. A
// container of mode direct reaches this host through the LAN, too. A macvlan container without host
// access needs no rule: the kernel keeps it from the host.
func storeChains() []heddle.Firewall {
	ports := fmt.Sprintf("tcp dport %d-%d ", heddle.DoorPort, heddle.StorePeerPort)
	pods := `iifname { "` + heddle.PrefixBridge + `*", "` + heddle.PrefixPort + `*", "` + heddle.PrefixShim + `*", "` + heddle.PrefixSlave + `*" } `
	return []heddle.Firewall{
		chain("inet", "store-input", "type filter hook input priority filter - 9; policy accept;",
			ports+pods+Drop("isolated"),
			ports+"iifname . ether saddr @beside "+Drop("isolated"),
			// packets by the loopback that are not from the host: from an ipvlan container for
			// which the host routes (sub-modes l3, l3s)
			ports+`iifname "lo" fib saddr type != local `+Drop("isolated")),
		chain("inet", "store-forward", "type filter hook forward priority filter - 9; policy accept;",
			ports+pods+"ip daddr @hosts4 "+Drop("isolated"),
			ports+pods+"ip6 daddr @hosts6 "+Drop("isolated")),
	}
}
