package dhcp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/mdlayher/ndp"
)

// TestRouters: the default router is the one that is preferred most, and ends with its lifetime, or when it says so.
func TestRouters(t *testing.T) {
	m, now := advertised6(t, advert())
	is := func(want string) {
		t.Helper()
		got := ""
		if a := m.Lease().Router; a.IsValid() {
			got = a.String()
		}
		if got != want {
			t.Errorf("router %q, want %q", got, want)
		}
	}
	second := Advertisement{Router: netip.MustParseAddr("fe80::2"), Lifetime: time.Hour}
	m.Advertised(now, second)
	is("fe80::1")
	second.Preference = 1
	m.Advertised(now, second)
	is("fe80::2")
	second.Preference = -1
	m.Advertised(now, second)
	is("fe80::1")
	gone := advert()
	gone.Lifetime = 0
	m.Advertised(now, gone)
	is("fe80::2")
	if sent := m.until(t, now, now.Add(59*time.Minute)); sent > 0 {
		t.Errorf("%d frames while a router is there", sent)
	}
	m.until(t, now.Add(59*time.Minute), now.Add(time.Hour))
	is("")
	if m.asked != 1 || m.ask.After(now.Add(time.Hour+2*firstWait)) {
		t.Errorf("another router is not looked for anew: asked %d times, again at %v", m.asked, m.ask)
	}
}

// TestLifetimes: what a router says of times counts as RFC 4862, 5.5.3 has it: one advertisement cannot end an address at once.
func TestLifetimes(t *testing.T) {
	for name, c := range map[string]struct{ first, then, want time.Duration }{
		"longer":             {3 * time.Hour, 4 * time.Hour, 4 * time.Hour},
		"shorter, over two":  {10 * time.Hour, 3 * time.Hour, 3 * time.Hour},
		"zero":               {10 * time.Hour, 0, 2 * time.Hour},
		"one hour":           {10 * time.Hour, time.Hour, 2 * time.Hour},
		"zero, under two":    {time.Hour, 0, time.Hour},
		"longer, under two":  {time.Hour, 90 * time.Minute, 90 * time.Minute},
		"for ever":           {time.Hour, 0xffffffff * time.Second, 0xffffffff * time.Second},
		"zero at first":      {0, time.Hour, time.Hour},
		"too short at first": {5 * time.Second, 0, 0},
	} {
		a := advert()
		a.Prefixes[0].Valid, a.Prefixes[0].Preferred = c.first, c.first/2
		m, _ := advertised6(t, a)
		a.Prefixes[0].Valid, a.Prefixes[0].Preferred = c.then, c.then/2
		m.Advertised(start, a)
		m.until(t, start, start.Add(time.Second))
		var got time.Duration
		if l := m.Lease(); len(l.Addresses) > 0 {
			got = l.Addresses[0].Valid.Sub(start)
			if l.Addresses[0].Preferred.After(l.Addresses[0].Valid) {
				t.Errorf("%s: preferred longer than it is valid", name)
			}
		}
		if got != c.want {
			t.Errorf("%s: valid for %v, want %v", name, got, c.want)
		}
		if c.want == 0 || c.want > 100*time.Hour {
			continue
		}
		if m.until(t, start.Add(time.Second), start.Add(c.want-time.Second)); len(m.Lease().Addresses) != 1 {
			t.Errorf("%s: gone before its end", name)
		}
		if m.until(t, start.Add(c.want-time.Second), start.Add(c.want)); len(m.Lease().Addresses) != 0 || m.Lease().Trouble == "" {
			t.Errorf("%s: used after its end: %+v", name, m.Lease())
		}
	}
}

// TestPrefixesRefused: no address is made in a prefix that is none for that.
func TestPrefixesRefused(t *testing.T) {
	for name, change := range map[string]func(*AdvertisedPrefix){
		"not autonomous":         func(p *AdvertisedPrefix) { p.Autonomous = false },
		"63 bits":                func(p *AdvertisedPrefix) { p.Prefix = netip.MustParsePrefix("2001:db8::/63") },
		"128 bits":               func(p *AdvertisedPrefix) { p.Prefix = netip.MustParsePrefix("2001:db8::1/128") },
		"none":                   func(p *AdvertisedPrefix) { p.Prefix = netip.PrefixFrom(netip.IPv6Unspecified(), -1) },
		"link-local":             func(p *AdvertisedPrefix) { p.Prefix = linkPrefix },
		"multicast":              func(p *AdvertisedPrefix) { p.Prefix = netip.MustParsePrefix("ff02::/64") },
		"loopback":               func(p *AdvertisedPrefix) { p.Prefix = netip.MustParsePrefix("::/64") },
		"mapped IPv4":            func(p *AdvertisedPrefix) { p.Prefix = netip.MustParsePrefix("64:ff9b::/64") },
		"preferred beyond valid": func(p *AdvertisedPrefix) { p.Preferred = p.Valid + 1 },
	} {
		a := advert()
		change(&a.Prefixes[0])
		if m, _ := advertised6(t, a); len(m.claims) > 0 || len(m.Lease().Addresses) > 0 || !m.Settled() {
			t.Errorf("%s: %+v", name, m.Lease())
		}
	}
	a := advert()
	a.Prefixes[0].OnLink = false
	a.Prefixes = append(a.Prefixes, AdvertisedPrefix{Prefix: netip.MustParsePrefix("2000::/3"), OnLink: true, Valid: time.Hour})
	a.MTU = 1279
	if m, _ := advertised6(t, a); len(m.onLink) > 0 || m.Lease().Addresses[0].Address.Bits() != 128 || m.Lease().MTU != 0 {
		t.Errorf("half of the Internet on the link: %+v", m.Lease())
	}
}

// TestAdvertisementFlood: who floods the LAN with routers and prefixes gets a few of them followed, and the agent few records to write.
func TestAdvertisementFlood(t *testing.T) {
	m, now := advertised6(t, advert())
	changes, was := 0, m.Lease()
	for i := range 3000 {
		now = now.Add(10 * time.Millisecond)
		a := advert()
		a.Router = netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80, 14: byte(i >> 8), 15: byte(i)})
		a.MTU, a.Prefixes[0].Prefix = 1280+i, netip.PrefixFrom(netip.AddrFrom16([16]byte{0: 0x20, 1: 1, 6: byte(i >> 8), 7: byte(i)}), 64)
		if i%2 == 0 {
			a.Router, a.Preference, a.Lifetime = gateway, 1, time.Duration(1+i%4)*time.Hour
		}
		m.Advertised(now, a)
		if l := m.Lease(); !l.SameGrant(was) {
			changes, was = changes+1, l
		}
	}
	if len(m.claims) > maxClaims || len(m.routers) > maxRouters || len(m.onLink) > maxClaims || len(m.Lease().Addresses) == 0 {
		t.Errorf("%d addresses, %d routers, %d prefixes", len(m.claims), len(m.routers), len(m.onLink))
	}
	if changes > 2*burst {
		t.Errorf("%d changes in 30 s", changes)
	}
	if m.Lease().Addresses[0].Address.Masked() != site {
		t.Errorf("the first address has gone: %+v", m.Lease())
	}
}

// TestQuietRefresh: a router that says the same again and again does not change the record each time, and the address does not end.
func TestQuietRefresh(t *testing.T) {
	m, now := advertised6(t, advert())
	changes, was := 0, m.Lease()
	for end := now.Add(100 * time.Hour); now.Before(end); now = now.Add(200 * time.Second) {
		m.Advertised(now, advert())
		l := m.Lease()
		if !l.SameGrant(was) {
			changes, was = changes+1, l
		}
		if len(l.Addresses) != 1 || !l.Router.IsValid() || !l.RouterUntil.After(now) {
			t.Fatalf("after %v: %+v", now.Sub(start), l)
		}
	}
	if changes > 1000 || changes < 10 {
		t.Errorf("%d changes of %d advertisements", changes, 100*3600/200)
	}
}

// frameOf is an advertisement on the wire.
func frameOf(t testing.TB, from, to netip.Addr, options ...ndp.Option) []byte {
	t.Helper()
	b := neighbourFrame(groupMAC(to), other, from, to, &ndp.RouterAdvertisement{RouterLifetime: 30 * time.Minute, RouterSelectionPreference: ndp.High, ManagedConfiguration: true,
		Options: append([]ndp.Option{ndp.NewMTU(1400), &ndp.PrefixInformation{PrefixLength: 64, OnLink: true, AutonomousAddressConfiguration: true, ValidLifetime: time.Hour,
			PreferredLifetime: time.Minute, Prefix: site.Addr()}}, options...)})
	if b == nil {
		t.Fatal("cannot be coded")
	}
	return b
}

// TestParseAdvertisement: an advertisement counts if it comes from the link, whole. Of it, routes are not read.
func TestParseAdvertisement(t *testing.T) {
	dns := &ndp.RecursiveDNSServer{Lifetime: time.Hour, Servers: []netip.Addr{netip.MustParseAddr("2001:db8::53"), netip.MustParseAddr("::1")}}
	good := frameOf(t, gateway, allNodes, dns, &ndp.RouteInformation{PrefixLength: 0, RouteLifetime: time.Hour, Prefix: netip.IPv6Unspecified()})
	a := Parse6(good, nil).Advertisement
	if want := (Advertisement{Router: gateway, RouterMAC: other, Lifetime: 30 * time.Minute, Preference: 1, Managed: true, MTU: 1400, DNS: dns.Servers[:1],
		Prefixes: []AdvertisedPrefix{{Prefix: site, OnLink: true, Autonomous: true, Valid: time.Hour, Preferred: time.Minute}}}); a == nil || fmt.Sprint(*a) != fmt.Sprint(want) {
		t.Fatalf("%+v\nwant %+v", a, want)
	}
	for name, bad := range map[string][]byte{
		"passed on by a router": edit(good, func(b []byte) { b[etherSize+7] = 254 }),
		"another code":          edit(good, func(b []byte) { b[etherSize+ip6Size+1] = 1; b[etherSize+ip6Size+3]-- }),
		"a checksum":            edit(good, func(b []byte) { b[etherSize+ip6Size+2]++ }),
		"cut off":               good[:len(good)-1],
		"a fragment":            edit(good, func(b []byte) { b[etherSize+6] = 44 }),
		"another protocol":      edit(good, func(b []byte) { binary.BigEndian.PutUint16(b[12:], etherIPv4) }),
		"from beyond":           frameOf(t, netip.MustParseAddr("2001:db8::1"), allNodes),
		"from nobody":           frameOf(t, netip.IPv6Unspecified(), allNodes),
		"to one":                frameOf(t, gateway, me6.address(linkPrefix, 0)),
	} {
		if p := Parse6(bad, nil); p != (Packet6{}) {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// edit is a frame with a change.
func edit(frame []byte, change func([]byte)) []byte {
	b := append([]byte{}, frame...)
	change(b)
	return b
}

// FuzzParse6: no frame of the LAN panics, and what is read of it is no address of another kind.
func FuzzParse6(f *testing.F) {
	f.Add(frameOf(f, gateway, allNodes, &ndp.DNSSearchList{Lifetime: time.Hour, DomainNames: []string{"example.org"}}))
	f.Add(probe6Frame(me6.MAC, gateway))
	f.Add(routersFrame(me6.MAC))
	f.Add(answer6Frame(f, me6, 7, 2, leaseOf("2001:db8:1::50", time.Minute, time.Hour)))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := Parse6(b, func(uint32, netip.Addr) bool { return true })
		m := NewMachine6(me6, anyAddr)
		m.Tick(start)
		if p.Advertisement != nil {
			m.Advertised(start, *p.Advertisement)
		}
		if p.Neighbour != nil {
			m.Heard(start, *p.Neighbour)
		}
		m.Tick(m.Deadline())
		for _, a := range m.Lease().Addresses {
			if !isGlobal(a.Address.Addr()) {
				t.Errorf("%+v", a)
			}
		}
	})
}
