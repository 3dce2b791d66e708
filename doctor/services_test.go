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
		"of the pods":         {[]string{"-A KUBE-SVC-X -s 10.0.0.0/8 -d 172.16.0.1/32 -j KUBE-MARK-MASQ"}, ""},
		"nftables":            {[]string{"masquerade fully-random", "ip6 saddr != fd00:a::/48 ip6 daddr fd00:96::1 jump mark-for-masquerade"}, "fd00:a::/48"},
		"nftables, one of us": {[]string{"ip saddr != 10.0.1.7 jump mark-for-masquerade"}, "10.0.1.7"},
		"nftables, all":       {[]string{"meta mark & 0x00004000 == 0x00004000 masquerade"}, ""},
	} {
		got := strings.Join(unmasked([]chain{{rules: c.rules}}, pods), "\n")
		if (got == "") != (c.words == "") || !strings.Contains(got, c.words) {
			t.Errorf("%s: %q, want %q", name, got, c.words)
		}
	}
}
