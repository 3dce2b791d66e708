package ipvlan_test

import (
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// The services' prefixes, and the services: port 80 of an address stands for port
// 8080 of one container.
const servicePrefixes = "172.16.0.0/16,fd00:96::/112"

// backends are the containers behind the services' addresses.
var backends = []string{"a2", "b1", "c1"}

// service is a backend's service, of both families.
func service(backend string) []netip.Addr {
	for i, name := range backends {
		if name == backend {
			return []netip.Addr{netip.AddrFrom4([4]byte{172, 16, 0, byte(10 + i)}), netip.MustParseAddr(fmt.Sprintf("fd00:96::%x", 10+i))}
		}
	}
	return nil
}

// proxies write the services' rules on a node, as the modes of kube-proxy do, with
// all traffic masqueraded.
var proxies = map[string]func(testing.TB, *scene, *node){"iptables": byIptables, "nftables": byNftables, "ipvs": byIPVS}

// target is a backend's address at port 8080.
func target(s *scene, backend string, f heddle.Family) netip.AddrPort {
	for _, a := range s.pods[backend].addrs {
		if f.Has(a) {
			return netip.AddrPortFrom(a, 8080)
		}
	}
	return netip.AddrPort{}
}

func byIptables(t testing.TB, s *scene, n *node) {
	for i, tool := range []string{"iptables-restore", "ip6tables-restore"} {
		var b strings.Builder
		b.WriteString("*nat\n:KUBE-SERVICES -\n:KUBE-MARK-MASQ -\n:KUBE-POSTROUTING -\n-A PREROUTING -j KUBE-SERVICES\n-A OUTPUT -j KUBE-SERVICES\n-A POSTROUTING -j KUBE-POSTROUTING\n")
		b.WriteString("-A KUBE-MARK-MASQ -j MARK --or-mark 0x4000\n-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN\n-A KUBE-POSTROUTING -j MARK --xor-mark 0x4000\n-A KUBE-POSTROUTING -j MASQUERADE\n")
		for _, name := range backends {
			fmt.Fprintf(&b, ":KUBE-SVC-%[1]s -\n-A KUBE-SVC-%[1]s -j KUBE-MARK-MASQ\n", name)
			for _, proto := range []string{"tcp", "udp"} {
				fmt.Fprintf(&b, "-A KUBE-SERVICES -d %[1]s -p %[2]s --dport 80 -j KUBE-SVC-%[3]s\n-A KUBE-SVC-%[3]s -p %[2]s -j DNAT --to-destination %[4]s\n", service(name)[i], proto, name, target(s, name, heddle.Families()[i]))
			}
		}
		n.Sh(t, "xtables-legacy-multi %s <<E\n%sCOMMIT\nE", tool, b.String())
	}
}

func byNftables(t testing.TB, s *scene, n *node) {
	var b strings.Builder
	b.WriteString("table inet kube-proxy {\n")
	for _, name := range backends {
		fmt.Fprintf(&b, "chain svc-%s { meta mark set meta mark or 0x4000; ", name)
		for i, family := range []string{"ip", "ip6"} {
			fmt.Fprintf(&b, "meta l4proto { tcp, udp } dnat %s to %s; ", family, target(s, name, heddle.Families()[i]))
		}
		b.WriteString("}\n")
		fmt.Fprintf(&b, "chain echo-%s { meta mark set meta mark or 0x4000; ", name)
		for i, family := range []string{"ip", "ip6"} {
			fmt.Fprintf(&b, "meta l4proto udp dnat %s to %s; ", family, netip.AddrPortFrom(target(s, name, heddle.Families()[i]).Addr(), 9000))
		}
		b.WriteString("}\n")
	}
	b.WriteString("chain services {\n")
	for i, family := range []string{"ip", "ip6"} {
		fmt.Fprintf(&b, "%s daddr . meta l4proto . th dport vmap { ", family)
		for _, name := range backends {
			for _, proto := range []string{"tcp", "udp"} {
				fmt.Fprintf(&b, "%s . %s . 80 : goto svc-%s, ", service(name)[i], proto, name)
			}
			fmt.Fprintf(&b, "%s . udp . 90 : goto echo-%s, ", service(name)[i], name)
		}
		b.WriteString("}\n")
	}
	b.WriteString(`}
chain pre { type nat hook prerouting priority dstnat; jump services; }
chain out { type nat hook output priority -100; jump services; }
chain post { type nat hook postrouting priority srcnat; meta mark and 0x4000 == 0 return; meta mark set meta mark xor 0x4000; masquerade; }
}
`)
	n.Sh(t, "nft -f - <<E\n%sE", b.String())
}

// byIPVS puts the services' addresses on a device of the node. What IPVS has sent on
// is masqueraded, as kube-proxy does.
func byIPVS(t testing.TB, s *scene, n *node) {
	if _, err := exec.LookPath("ipvsadm"); err != nil {
		t.Skip("no ipvsadm: install the package ipvsadm")
	}
	var rules, links strings.Builder
	for i, open := range []string{"%s", "[%s]"} {
		for _, name := range backends {
			fmt.Fprintf(&links, "address add %s dev kube-ipvs0\n", service(name)[i])
			for _, proto := range []string{"-t", "-u"} {
				vip := fmt.Sprintf(open+":80", service(name)[i])
				fmt.Fprintf(&rules, "-A %s %s -s rr\n-a %[1]s %[2]s -r %[3]s -m\n", proto, vip, target(s, name, heddle.Families()[i]))
			}
		}
	}
	n.Sh(t, `ip link add kube-ipvs0 type dummy; ip -batch - <<E
%sE
sysctl -qw net.ipv4.vs.conntrack=1 net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2
ipvsadm -R <<E
%sE
iptables-legacy -t nat -A POSTROUTING -m ipvs --ipvs -j MASQUERADE
ip6tables-legacy -t nat -A POSTROUTING -m ipvs --ipvs -j MASQUERADE`, links.String(), rules.String())
}

// byNobody takes all rules away.
func (n *node) byNobody(t testing.TB) {
	t.Helper()
	n.Sh(t, `for t in iptables-legacy ip6tables-legacy; do $t -t nat -F; $t -t nat -X; done
		nft delete table inet kube-proxy 2>/dev/null || true
		ip link del kube-ipvs0 2>/dev/null || true
		test ! -e /proc/net/ip_vs || ipvsadm -C
		conntrack -F 2>/dev/null || true`)
}
