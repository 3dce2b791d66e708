package ipam_test

import (
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
)

// network reads "SUBNETS|GATEWAYS|RANGES|RESERVED", each separated by commas.
// What cannot be read becomes the zero value, as from a careless caller.
func network(text string) heddle.Network {
	n := heddle.Network{ID: "00000000000000aa", Name: "web"}
	parts := append(strings.Split(text, "|"), "", "", "")
	n.Subnets = prefixes(parts[0])
	n.Gateways = addrs(parts[1])
	n.Ranges = prefixes(parts[2])
	n.Reserved = addrs(parts[3])
	return n
}

func prefixes(text string) []netip.Prefix {
	var all []netip.Prefix
	for _, s := range fields(text) {
		p, _ := netip.ParsePrefix(s)
		all = append(all, p)
	}
	return all
}

func addrs(text string) []netip.Addr {
	var all []netip.Addr
	for _, s := range fields(text) {
		a, _ := netip.ParseAddr(s)
		all = append(all, a)
	}
	return all
}

func fields(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func TestCheckCompletes(t *testing.T) {
	for given, want := range map[string]string{
		"":                              "",
		"10.0.0.4/30":                   "10.0.0.4/30|10.0.0.5",
		"fd20::4/126":                   "fd20::4/126|fd20::5",
		"fd20::/64,10.1.0.0/24":         "fd20::/64,10.1.0.0/24|fd20::1,10.1.0.1",
		"10.1.0.0/24,fd20::/64|fd20::9": "10.1.0.0/24,fd20::/64|10.1.0.1,fd20::9",
		"10.1.0.0/24,fd20::/64|fd20::9,10.1.0.254": "10.1.0.0/24,fd20::/64|10.1.0.254,fd20::9",
		"fd20::/126|fd20::3":                       "fd20::/126|fd20::3",
		"10.1.0.0/24||10.1.0.192/26,10.1.0.7/32":   "10.1.0.0/24|10.1.0.1|10.1.0.192/26,10.1.0.7/32",
		"10.1.0.0/24||10.1.0.0/24|10.1.0.1":        "10.1.0.0/24|10.1.0.1|10.1.0.0/24|10.1.0.1",
		"240.0.0.0/24":                             "240.0.0.0/24|240.0.0.1",
	} {
		got, err := ipam.Check(network(given))
		if err != nil {
			t.Errorf("%q is refused: %v", given, err)
		} else if !reflect.DeepEqual(got, network(want)) {
			t.Errorf("%q becomes %+v, want %q", given, got, want)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	for given, words := range map[string]string{
		"nonsense":                              "CIDR form",
		"10.1.2.3/16":                           "10.1.2.3/16 is an address in 10.1.0.0/16",
		"fd20::5/64":                            "fd20::5/64 is an address in fd20::/64",
		"10.1.0.0/24||10.1.0.200/26":            "give the range 10.1.0.192/26",
		"10.0.0.0/31":                           "no room",
		"fd20::/127":                            "no room",
		"10.0.0.0/24,10.1.0.0/24":               "of one family",
		"0.0.0.0/0":                             "unspecified",
		"0.1.0.0/16":                            "unspecified",
		"127.0.0.0/24":                          "loopback",
		"126.0.0.0/7":                           "loopback",
		"169.254.1.0/24":                        "link-local",
		"239.0.0.0/24":                          "multicast",
		"255.255.255.0/24":                      "broadcast",
		"::/64":                                 "unspecified",
		"::/0":                                  "unspecified",
		"::ffff:10.0.0.0/104":                   "IPv4-mapped",
		"fe80::/64":                             "link-local",
		"ff05::/64":                             "multicast",
		"10.0.0.0/24|10.0.1.1":                  "in none of its subnets",
		"10.0.0.0/24|10.0.0.0":                  "network address",
		"10.0.0.0/24|10.0.0.255":                "broadcast address",
		"fd20::/64|fd20::":                      "network address",
		"fd20::/64|fd20::1%eth0":                "in none of its subnets",
		"10.0.0.0/24|nonsense":                  "in none of its subnets",
		"10.0.0.0/24|fd20::1":                   "in none of its subnets",
		"10.0.0.0/24|::ffff:10.0.0.1":           "in none of its subnets",
		"10.0.0.0/24|10.0.0.1,10.0.0.2":         "two gateways",
		"|10.0.0.1":                             "in none of its subnets",
		"10.0.0.0/24||10.0.0.0/23":              "in none of its subnets",
		"10.0.0.0/24||10.0.1.0/25":              "in none of its subnets",
		"10.0.0.0/24||nonsense":                 "in none of its subnets",
		"10.0.0.0/24||10.0.0.0/25,10.0.0.64/26": "overlap",
		"10.0.0.0/24|||10.0.1.5":                "in none of its subnets",
		"10.0.0.0/24|||nonsense":                "in none of its subnets",
		"10.0.0.0/24|||::ffff:10.0.0.9":         "in none of its subnets",
	} {
		_, err := ipam.Check(network(given))
		if !errors.Is(err, heddle.BadSubnet.Sentinel()) || !strings.Contains(err.Error(), words) {
			t.Errorf("%q gives %v, want %s with %q", given, err, heddle.BadSubnet, words)
		}
	}
}

func TestCheckKeepsNothing(t *testing.T) {
	n := network("10.1.2.0/24|10.1.2.9|10.1.2.64/26|10.1.2.80")
	got, err := ipam.Check(n)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(n, network("10.1.2.0/24|10.1.2.9|10.1.2.64/26|10.1.2.80")) {
		t.Errorf("the given network was changed: %+v", n)
	}
	n.Gateways[0], n.Reserved[0] = netip.Addr{}, netip.Addr{}
	if !got.Gateways[0].IsValid() || !got.Reserved[0].IsValid() {
		t.Error("the returned network shares memory with the given one")
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("10.1.2.3/24,fd20::5/64", "fd20::9", "10.1.2.128/25,fd20::/80", "10.1.2.200")
	f.Add("0.0.0.0/0,::/0", "", "", "")
	f.Add("240.0.0.0/5", "247.255.255.255", "247.255.255.255/32", "240.0.0.0")
	f.Add("::ffff:10.0.0.0/104", "::ffff:10.0.0.1", "", "")
	f.Add("10.0.0.0/30", "10.0.0.2", "10.0.0.0/32", "10.0.0.1")
	f.Fuzz(func(t *testing.T, subnets, gateways, ranges, reserved string) {
		n, err := ipam.Check(network(subnets + "|" + gateways + "|" + ranges + "|" + reserved))
		if err != nil {
			return
		}
		again, err := ipam.Check(n)
		if err != nil || !reflect.DeepEqual(again, n) {
			t.Fatalf("%+v is checked to %+v, %v", n, again, err)
		}
		usable(t, n)
	})
}

// usable takes an address of a checked network and looks where it lies.
func usable(t *testing.T, n heddle.Network) {
	p := ipam.NewPool(n)
	lease, err := p.Take(id("a"), nil)
	if err != nil {
		if !errors.Is(err, heddle.PoolExhausted.Sentinel()) {
			t.Fatal(err)
		}
		return
	}
	for i, a := range lease {
		if !n.Subnets[i].Contains(a.Addr()) || a.Addr() == n.Gateways[i] || a.Bits() != n.Subnets[i].Bits() {
			t.Fatalf("%+v gives %v", n, lease)
		}
	}
	for _, s := range p.Stats() {
		if s.Used != 1 || s.Size == 0 {
			t.Fatalf("%+v has %+v with one lease", n, s)
		}
	}
}
