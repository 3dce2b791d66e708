package doctor

import (
	"net/netip"
	"strings"
	"testing"
)

// TestUnmasked: rules as kube-proxy writes them, with and without masquerading all.
func TestUnmasked(t *testing.T) {
	pods := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16"), netip.MustParsePrefix("fd00:a::/64")}
	const post = "-A KUBE-POSTROUTING -j MASQUERADE"
	for name, c := range map[string]struct {
		rules []string
		words string
	}{
		"none":                {[]string{"-A KUBE-SVC-X -j DNAT --to-destination 10.0.1.1:80"}, "no rule of others masquerades"},
		"all":                 {[]string{post, "-A KUBE-SVC-X -d 172.16.0.1/32 -p tcp -j KUBE-MARK-MASQ"}, ""},
		"but the pods":        {[]string{post, "-A KUBE-SVC-X ! -s 10.0.0.0/8 -d 172.16.0.1/32 -p tcp -j KUBE-MARK-MASQ"}, "! -s 10.0.0.0/8"},
		"but others":          {[]string{post, "-A KUBE-SVC-X ! -s 10.244.0.0/16 -d 172.16.0.1/32 -p tcp -j KUBE-MARK-MASQ"}, ""},
		"another network's":   {[]string{"-A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE"}, "no rule of others masquerades"},
		"who calls itself":    {[]string{"-A KUBE-SEP-X -s 10.0.1.1/32 -j KUBE-MARK-MASQ", "ip saddr 10.0.1.1 jump mark-for-masquerade"}, "no rule of others masquerades"},
		"of the pods":         {[]string{"-A KUBE-SVC-X -s 10.0.0.0/8 -d 172.16.0.1/32 -j KUBE-MARK-MASQ", "-A KUBE-SVC-X -s fd00:a::/48 -j KUBE-MARK-MASQ"}, ""},
		"of one family's":     {[]string{"-A KUBE-SVC-X -s 10.0.0.0/8 -d 172.16.0.1/32 -j KUBE-MARK-MASQ"}, "no rule of others masquerades IPv6"},
		"nftables":            {[]string{"masquerade fully-random", "ip6 saddr != fd00:a::/48 ip6 daddr fd00:96::1 jump mark-for-masquerade"}, "fd00:a::/48"},
		"nftables, one of us": {[]string{"ip saddr != 10.0.1.7 jump mark-for-masquerade"}, "10.0.1.7"},
		"nftables, all":       {[]string{"meta mark & 0x00004000 == 0x00004000 masquerade"}, ""},
	} {
		got := strings.Join(unmasqueraded([]chain{{family: "inet", rules: c.rules}}, pods), "\n")
		if (got == "") != (c.words == "") || !strings.Contains(got, c.words) {
			t.Errorf("%s: %q, want %q", name, got, c.words)
		}
	}
}

// TestUnmaskedByFamily: rules of one family do nothing for the other.
func TestUnmaskedByFamily(t *testing.T) {
	pods := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16"), netip.MustParsePrefix("fd00:a::/64")}
	const mark, none4, none6 = "jump mark-for-masquerade", "masquerades IPv4, and services are asked from 10.0.0.0/16", "masquerades IPv6, and services are asked from fd00:a::/64"
	legacy4, legacy6 := legacyFamilies[0], legacyFamilies[1]
	masks := "-N KUBE-SVC-X\n-A KUBE-SVC-X -j KUBE-MARK-MASQ"
	for name, c := range map[string]struct {
		chains []chain
		words  []string
	}{
		"neither":            {nil, []string{none4, none6}},
		"IPv4's chain":       {[]chain{{family: "ip", rules: []string{mark}}}, []string{none6}},
		"IPv6's chain":       {[]chain{{family: "ip6", rules: []string{mark}}}, []string{none4}},
		"one of each":        {[]chain{{family: "ip", rules: []string{mark}}, {family: "ip6", rules: []string{mark}}}, nil},
		"of both":            {[]chain{{family: "inet", rules: []string{mark}}}, nil},
		"of both, about one": {[]chain{{family: "inet", rules: []string{"ip daddr 172.16.0.1 " + mark, "meta nfproto ipv4 masquerade"}}}, []string{none6}},
		"another firewall's": {[]chain{{family: "bridge", rules: []string{mark}}}, []string{none4, none6}},
		"iptables-legacy":    {parseLegacy(legacy4, "nat", masks), []string{none6}},
		"both legacy":        {append(parseLegacy(legacy4, "nat", masks), parseLegacy(legacy6, "nat", masks)...), nil},
	} {
		got := unmasqueraded(c.chains, pods)
		wrong := len(got) != len(c.words)
		for i := 0; i < len(got) && !wrong; i++ {
			wrong = !strings.Contains(got[i], c.words[i])
		}
		if wrong {
			t.Errorf("%s: %q, want %q", name, got, c.words)
		}
	}
}

// TestServedSubnets: only a family that has services asks for them.
func TestServedSubnets(t *testing.T) {
	pods := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16"), netip.MustParsePrefix("fd00:a::/64")}
	for services, want := range map[string]string{"": "", "172.16.0.0/16": "10.0.0.0/16", "fd00:96::/112": "fd00:a::/64", "172.16.0.0/16,fd00:96::/112": "10.0.0.0/16, fd00:a::/64"} {
		if got := joinPrefixes(servedSubnets(services, pods)); got != want {
			t.Errorf("services=%s: %s, want %s", services, got, want)
		}
	}
}
