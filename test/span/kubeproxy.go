package span

import (
	"net/netip"
	"os"
	"testing"

	"github.com/heddle-network/heddle"
)

// The service that Proxy makes: its addresses, its port, and its port at the hosts' own addresses.
const (
	ServicePort uint16 = 80
	NodePort    uint16 = 30080
)

// ServiceAddrs are the addresses of the service, of both families.
var ServiceAddrs = []netip.Addr{netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("2001:db8:7::7")}

// Proxies are the back ends of kube-proxy.
var Proxies = []string{"iptables", "nftables"}

// Proxy writes the rules of kube-proxy 1.36 for one service of TCP and UDP, whose backend is the
// container at port 7000. Callers outside the network are masqueraded (clusterCIDR, and the traffic
// policy Cluster).
func (h *Host) Proxy(t testing.TB, by string, backend *Pod, n heddle.Network) {
	t.Helper()
	for i, f := range heddle.Families() {
		words := map[string]string{"ip": f.Word(), "type": "ipv" + f.Digit() + "_addr", "service": ServiceAddrs[i].String(), "pods": n.Subnets[i].String(),
			"backend": backend.Addrs()[i].String(), "target": netip.AddrPortFrom(backend.Addrs()[i], 7000).String(), "node": h.underlays[i].String()}
		rules, tool := nftablesRules, "nft -f -"
		if by == "iptables" {
			rules, tool = iptablesRules, map[heddle.Family]string{heddle.IPv4: "iptables-nft-restore", heddle.IPv6: "ip6tables-nft-restore"}[f]
		}
		h.Sh(t, "%s <<'RULES'\n%sRULES", tool, os.Expand(rules, func(word string) string { return words[word] }))
	}
	// kube-proxy sets it for the port at the loopback's addresses
	h.Sh(t, "sysctl -qw net.ipv4.conf.all.route_localnet=%d", map[string]int{"iptables": 1}[by])
}

// NoProxy removes what Proxy has written.
func (h *Host) NoProxy(t testing.TB) {
	t.Helper()
	for _, table := range []string{"ip kube-proxy", "ip6 kube-proxy", "ip nat", "ip6 nat", "ip filter", "ip6 filter"} {
		h.Sh(t, "nft 'add table %s; delete table %[1]s'", table)
	}
}

const iptablesRules = `*filter
:KUBE-FORWARD - [0:0]
-A FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD
-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP
-A KUBE-FORWARD -m comment --comment "kubernetes forwarding rules" -m mark --mark 0x4000/0x4000 -j ACCEPT
-A KUBE-FORWARD -m comment --comment "kubernetes forwarding conntrack rule" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
COMMIT
*nat
:KUBE-SERVICES - [0:0]
:KUBE-NODEPORTS - [0:0]
:KUBE-POSTROUTING - [0:0]
:KUBE-MARK-MASQ - [0:0]
:KUBE-EXT-TCP - [0:0]
:KUBE-EXT-UDP - [0:0]
:KUBE-SVC-TCP - [0:0]
:KUBE-SVC-UDP - [0:0]
:KUBE-SEP-TCP - [0:0]
:KUBE-SEP-UDP - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A POSTROUTING -m comment --comment "kubernetes postrouting rules" -j KUBE-POSTROUTING
-A KUBE-SERVICES -m comment --comment "default/web cluster IP" -m tcp -p tcp -d $service --dport 80 -j KUBE-SVC-TCP
-A KUBE-SERVICES -m comment --comment "default/web cluster IP" -m udp -p udp -d $service --dport 80 -j KUBE-SVC-UDP
-A KUBE-SERVICES -m comment --comment "kubernetes service nodeports" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
-A KUBE-NODEPORTS -m comment --comment default/web -m tcp -p tcp --dport 30080 -j KUBE-EXT-TCP
-A KUBE-NODEPORTS -m comment --comment default/web -m udp -p udp --dport 30080 -j KUBE-EXT-UDP
-A KUBE-EXT-TCP -m comment --comment "masquerade traffic for default/web external destinations" -j KUBE-MARK-MASQ
-A KUBE-EXT-TCP -j KUBE-SVC-TCP
-A KUBE-EXT-UDP -m comment --comment "masquerade traffic for default/web external destinations" -j KUBE-MARK-MASQ
-A KUBE-EXT-UDP -j KUBE-SVC-UDP
-A KUBE-MARK-MASQ -j MARK --or-mark 0x4000
-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN
-A KUBE-POSTROUTING -j MARK --xor-mark 0x4000
-A KUBE-POSTROUTING -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully
-A KUBE-SVC-TCP -m comment --comment "default/web cluster IP" -m tcp -p tcp -d $service --dport 80 ! -s $pods -j KUBE-MARK-MASQ
-A KUBE-SVC-TCP -m comment --comment "default/web -> $backend" -j KUBE-SEP-TCP
-A KUBE-SVC-UDP -m comment --comment "default/web cluster IP" -m udp -p udp -d $service --dport 80 ! -s $pods -j KUBE-MARK-MASQ
-A KUBE-SVC-UDP -m comment --comment "default/web -> $backend" -j KUBE-SEP-UDP
-A KUBE-SEP-TCP -m comment --comment default/web -s $backend -j KUBE-MARK-MASQ
-A KUBE-SEP-TCP -m comment --comment default/web -m tcp -p tcp -j DNAT --to-destination $target
-A KUBE-SEP-UDP -m comment --comment default/web -s $backend -j KUBE-MARK-MASQ
-A KUBE-SEP-UDP -m comment --comment default/web -m udp -p udp -j DNAT --to-destination $target
COMMIT
`

const nftablesRules = `add table $ip kube-proxy { comment "rules for kube-proxy"; }
delete table $ip kube-proxy
table $ip kube-proxy {
	set cluster-ips { type $type; elements = { $service }; }
	set nodeport-ips { type $type; elements = { $node }; }
	map service-ips {
		type $type . inet_proto . inet_service : verdict
		elements = { $service . tcp . 80 : goto service-web, $service . udp . 80 : goto service-web }
	}
	map service-nodeports {
		type inet_proto . inet_service : verdict
		elements = { tcp . 30080 : goto external-web, udp . 30080 : goto external-web }
	}
	set hairpin-connections {
		type $type . $type . inet_proto . inet_service
		elements = { $backend . $backend . tcp . 7000, $backend . $backend . udp . 7000 }
	}
	chain nat-prerouting { type nat hook prerouting priority -100; jump services; }
	chain nat-output { type nat hook output priority -100; jump services; }
	chain nat-postrouting { type nat hook postrouting priority 100; jump masquerading; }
	chain services {
		$ip daddr @cluster-ips $ip saddr != $pods mark set mark or 0x4000 comment "masquerade clusterIP traffic from outside cluster"
		$ip daddr . meta l4proto . th dport vmap @service-ips
		$ip daddr @nodeport-ips meta l4proto . th dport vmap @service-nodeports
	}
	chain masquerading {
		mark and 0x4000 != 0 mark set mark xor 0x4000 masquerade fully-random
		ct status dnat $ip saddr . $ip daddr . meta l4proto . th dport @hairpin-connections masquerade fully-random
	}
	chain external-web {
		mark set mark or 0x4000 comment "masquerade"
		goto service-web
	}
	chain service-web {
		meta l4proto tcp dnat $ip addr . port to numgen random mod 1 map { 0 : $backend . 7000 }
		meta l4proto udp dnat $ip addr . port to numgen random mod 1 map { 0 : $backend . 7000 }
	}
	chain filter-forward { type filter hook forward priority 0; ct state new jump cluster-ips-check; }
	chain filter-output { type filter hook output priority 0; ct state new jump cluster-ips-check; }
	chain cluster-ips-check { $ip daddr @cluster-ips reject comment "Reject traffic to invalid ports of ClusterIPs"; }
}
`
