package nic

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestOrder: malformed orders are refused, each with its code.
func TestOrder(t *testing.T) {
	good := Order{Token: "a-1", Network: "lan", MAC: "0a:00:00:00:00:01",
		IPs: []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")}}
	for _, c := range []struct {
		what   string
		change func(*Order)
		code   heddle.Code
	}{
		{"good", func(*Order) {}, ""},
		{"network alone", func(o *Order) { *o = Order{Token: strings.Repeat("a", 64), Network: "lan"} }, ""},
		{"no token", func(o *Order) { o.Token = "" }, heddle.BadID},
		{"long token", func(o *Order) { o.Token = strings.Repeat("a", 65) }, heddle.BadID},
		{"token with capitals", func(o *Order) { o.Token = "A" }, heddle.BadID},
		{"token with a slash", func(o *Order) { o.Token = "a/b" }, heddle.BadID},
		{"token with a line", func(o *Order) { o.Token = "a\n" }, heddle.BadID},
		{"token like a flag", func(o *Order) { o.Token = "-a" }, heddle.BadID},
		{"no network", func(o *Order) { o.Network = "" }, heddle.BadName},
		{"multicast MAC", func(o *Order) { o.MAC = "01:00:00:00:00:01" }, heddle.BadMAC},
		{"MAC in another form", func(o *Order) { o.MAC = "0A-00-00-00-00-01" }, heddle.BadMAC},
		{"no address", func(o *Order) { o.IPs[0] = netip.Addr{} }, heddle.BadAddress},
		{"multicast", func(o *Order) { o.IPs[0] = netip.MustParseAddr("224.0.0.1") }, heddle.BadAddress},
		{"mapped", func(o *Order) { o.IPs[0] = netip.MustParseAddr("::ffff:192.0.2.7") }, heddle.BadAddress},
		{"zone", func(o *Order) { o.IPs[1] = netip.MustParseAddr("fe80::1%eth0") }, heddle.BadAddress},
		{"second IPv4 address", func(o *Order) { o.IPs[1] = netip.MustParseAddr("192.0.2.8") }, heddle.BadAddress},
		{"second IPv6 address", func(o *Order) { o.IPs[0] = netip.MustParseAddr("2001:db8::8") }, heddle.BadAddress},
	} {
		o := good
		o.IPs = append([]netip.Addr(nil), good.IPs...)
		c.change(&o)
		err := o.Check()
		if c.code == "" && err != nil || c.code != "" && !errors.Is(err, c.code.Sentinel()) {
			t.Errorf("%s: %v, not %s", c.what, err, c.code)
		}
	}
}

// TestCard: an answer that fits no order, or that no NIC can be made of, is recognised.
func TestCard(t *testing.T) {
	good := Card{Token: "a", Network: "lan", MAC: "0a:00:00:00:00:01", MTU: 1500,
		Addrs:    []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24"), netip.MustParsePrefix("2001:db8::7/64")},
		Prefixes: []netip.Prefix{netip.MustParsePrefix("192.0.2.32/28")},
		Gateways: []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}}
	if err := errors.Join(good.Check("a", "lan"), good.Check("a", "")); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(*Card){
		"another NIC":       func(c *Card) { c.Token = "b" },
		"another network":   func(c *Card) { c.Network = "dmz" },
		"no MAC":            func(c *Card) { c.MAC = "" },
		"a bad address":     func(c *Card) { c.Addrs[0] = netip.Prefix{} },
		"two addresses":     func(c *Card) { c.Addrs[0] = netip.MustParsePrefix("2001:db8::8/64") },
		"no gateway in it":  func(c *Card) { c.Gateways[0] = netip.Addr{} },
		"two gateways":      func(c *Card) { c.Gateways[0] = netip.MustParseAddr("2001:db8::2") },
		"no MTU":            func(c *Card) { c.MTU = 0 },
		"a large MTU":       func(c *Card) { c.MTU = 65536 },
		"no prefix":         func(c *Card) { c.Prefixes = make([]netip.Prefix, 1) },
		"a prefix's middle": func(c *Card) { c.Prefixes = []netip.Prefix{netip.MustParsePrefix("192.0.2.7/28")} },
		"an IPv6 prefix":    func(c *Card) { c.Prefixes = []netip.Prefix{netip.MustParsePrefix("2001:db8::/80")} },
		"many prefixes": func(c *Card) {
			for range 256 {
				c.Prefixes = append(c.Prefixes, netip.MustParsePrefix("192.0.2.0/28"))
			}
		},
	} {
		bad := good
		bad.Addrs, bad.Gateways = append([]netip.Prefix(nil), good.Addrs...), append([]netip.Addr(nil), good.Gateways...)
		change(&bad)
		if bad.Check("a", "lan") == nil {
			t.Errorf("%s is accepted", what)
		}
	}
	bad := good
	bad.Network = "a b"
	if bad.Check("a", "") == nil {
		t.Error("a network with a space in its name is accepted")
	}
}
