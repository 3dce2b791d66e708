package dhcp

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
)

var (
	me6     = NewIdentity6("0123456789abcdef", web, "0a:00:00:00:00:01")
	gateway = netip.MustParseAddr("fe80::1")
	site    = netip.MustParsePrefix("2001:db8:1::/64")
)

const other = heddle.MAC("0a:00:00:00:00:77")

// advert is an advertisement of the LAN's router: a prefix for two days, preferred for one.
func advert() Advertisement {
	return Advertisement{Router: gateway, RouterMAC: "0a:00:00:00:00:02", Lifetime: 30 * time.Minute, MTU: 1400,
		Prefixes: []AdvertisedPrefix{{Prefix: site, OnLink: true, Autonomous: true, Valid: 48 * time.Hour, Preferred: 24 * time.Hour}}}
}

// until does what is due up to a time, and returns how many frames were sent.
func (m *Machine6) until(t *testing.T, from, to time.Time) (sent int) {
	t.Helper()
	for now := from; !now.After(to); now = m.Deadline() {
		sent += len(m.Tick(now))
		if !m.Deadline().After(now) {
			t.Fatalf("a busy loop: due at %v, now %v, %+v", m.Deadline(), now, m.lease)
		}
	}
	return sent
}

// advertised6 is a machine that has heard the router at start, and the time when it is settled.
func advertised6(t *testing.T, a Advertisement) (*Machine6, time.Time) {
	t.Helper()
	m := NewMachine6(me6, anyAddr)
	m.Tick(start)
	m.Advertised(start, a)
	now := start.Add(time.Second)
	m.until(t, start, now)
	return m, now
}

// TestStateless: a router's prefix gives an address that is stable, is another one for each prefix and endpoint, and does not tell the MAC
// address.
func TestStateless(t *testing.T) {
	m := NewMachine6(me6, anyAddr)
	if sent := m.Tick(start); len(sent) != 2 || m.Settled() {
		t.Fatalf("first: %d frames, settled %v", len(sent), m.Settled())
	}
	if !slices.Contains(m.Hears(), groupMAC(allNodes)) {
		t.Error("a host without IPv6 of its own would not have its card take advertisements")
	}
	m.Advertised(start, advert())
	if l := m.Lease(); len(l.Addresses) > 0 || l.Router != gateway || l.MTU != 1400 || m.Settled() {
		t.Fatalf("used before the LAN was asked: %+v", l)
	}
	m.until(t, start, start.Add(350*time.Millisecond))
	if l := m.Lease(); len(l.Addresses) > 0 {
		t.Fatalf("used before the LAN could answer: %+v", l)
	}
	m.until(t, start.Add(350*time.Millisecond), start.Add(401*time.Millisecond))
	l := m.Lease()
	if !m.Settled() || len(l.Addresses) != 1 || l.State != advertised || l.Trouble != "" {
		t.Fatalf("%+v", l)
	}
	got := l.Addresses[0]
	if got.Address.Masked() != site || got.Source != heddle.SourceSLAAC || !got.Valid.Equal(start.Add(48*time.Hour)) || !got.Preferred.Equal(start.Add(24*time.Hour)) {
		t.Errorf("%+v", got)
	}
	eui := me6.MAC.LinkLocal().As16()
	is := got.Address.Addr().As16()
	if string(eui[8:]) == string(is[8:]) || got.Address.Addr() != me6.address(site, 0) {
		t.Errorf("%s", got.Address)
	}
	seen := map[netip.Addr]bool{got.Address.Addr(): true}
	for _, a := range []netip.Addr{me6.address(site, 1), me6.address(netip.MustParsePrefix("2001:db8:2::/64"), 0), me6.address(linkPrefix, 0),
		NewIdentity6("0123456789abcdef", heddle.EndpointID{Container: "db", IfName: "eth0"}, me6.MAC).address(site, 0), NewIdentity6("other", web, me6.MAC).address(site, 0)} {
		if seen[a] {
			t.Errorf("%s twice", a)
		}
		seen[a] = true
	}
	if NewIdentity6("0123456789abcdef", web, other).address(site, 0) != got.Address.Addr() {
		t.Error("changes with the MAC address")
	}
}

// TestReserved: no identifier of anycast or of IANA's is made.
func TestReserved(t *testing.T) {
	for id, want := range map[uint64]bool{0: true, 1: false, 0x02005efffe000000: true, 0x02005efffeffffff: true, 0x02005effff000000: false,
		0xfdffffffffffff80: true, 0xfdffffffffffffff: true, 0xfdffffffffffff7f: false, 0xfe00000000000000: false} {
		if reservedID(id) != want {
			t.Errorf("%x: %v", id, !want)
		}
	}
}

// TestDuplicate: an address that somebody has, or takes at the same time, is not used, but the next one. Who always has it ends that for a
// while, and is named. What comes from the endpoint's own MAC address is its own, sent back by the switch.
func TestDuplicate(t *testing.T) {
	for name, says := range map[string]Neighbour{"has it": {Sender: gateway, SenderMAC: other}, "takes it": {Sender: netip.IPv6Unspecified(), SenderMAC: other, Asks: true}} {
		m := NewMachine6(me6, anyAddr)
		m.Tick(start)
		m.Advertised(start, advert())
		says.Target = me6.address(site, 0)
		mine := says
		mine.SenderMAC = me6.MAC
		m.Heard(start, mine)
		if m.claimOf(says.Target) == nil {
			t.Fatalf("%s: gives way to itself", name)
		}
		asks := says
		if asks.Sender, asks.Asks = gateway, true; len(m.Heard(start, asks)) > 0 || m.claimOf(says.Target) == nil {
			t.Fatalf("%s: gives way to who asks for it", name)
		}
		m.Heard(start, says)
		m.until(t, start, start.Add(time.Second))
		if l := m.Lease(); len(l.Addresses) != 1 || l.Addresses[0].Address.Addr() != me6.address(site, 1) {
			t.Errorf("%s: %+v", name, l)
		}
		if says.Target = me6.address(site, 1); len(m.Heard(start.Add(time.Second), says)) > 0 || len(m.Lease().Addresses) != 1 {
			t.Errorf("%s: gives up what it has", name)
		}
	}
	m := NewMachine6(me6, anyAddr)
	m.Tick(start)
	m.Advertised(start, advert())
	for i := range uint8(10) {
		m.Heard(start, Neighbour{Sender: gateway, SenderMAC: other, Target: me6.address(site, i)})
	}
	m.until(t, start, start.Add(time.Minute))
	if l := m.Lease(); len(l.Addresses) > 0 || !strings.Contains(l.Trouble, "is in use by "+string(other)) || !m.Settled() {
		t.Errorf("%+v", l)
	}
	m.Advertised(start.Add(time.Minute), advert())
	if m.until(t, start.Add(time.Minute), start.Add(2*time.Minute)); len(m.Lease().Addresses) > 0 {
		t.Error("tried again at once")
	}
	m.Advertised(start.Add(10*time.Minute), advert())
	if m.until(t, start.Add(10*time.Minute), start.Add(11*time.Minute)); len(m.Lease().Addresses) != 1 || m.Lease().Trouble != "" {
		t.Errorf("not tried again: %+v", m.Lease())
	}
}

// TestRefused6: an address that the host refuses is not asked about.
func TestRefused6(t *testing.T) {
	m := NewMachine6(me6, func(p netip.Prefix) string {
		if site.Contains(p.Addr()) {
			return "the host's own"
		}
		return ""
	})
	m.Tick(start)
	two := advert()
	two.Prefixes = append(two.Prefixes, AdvertisedPrefix{Prefix: netip.MustParsePrefix("fd00:1::/64"), Autonomous: true, Valid: time.Hour, Preferred: time.Hour})
	m.Advertised(start, two)
	m.until(t, start, start.Add(time.Second))
	if l := m.Lease(); len(l.Addresses) != 1 || l.Addresses[0].Address.Bits() != 128 || l.Trouble != "the host's own" {
		t.Errorf("%+v", l)
	}
}

// TestNobodyAdvertises: on a LAN without routers, who waits is told in time, and routers are asked less and less.
func TestNobodyAdvertises(t *testing.T) {
	m := NewMachine6(me6, anyAddr)
	m.until(t, start, start.Add(9*time.Second))
	if l := m.Lease(); !m.Settled() || l.State != soliciting || len(l.Addresses) > 0 {
		t.Errorf("after 9 s: %+v", l)
	}
	if sent := m.until(t, start.Add(9*time.Second), start.Add(24*time.Hour)); sent > 50 {
		t.Errorf("%d frames in a day", sent)
	}
	m.Advertised(start.Add(24*time.Hour), advert())
	if m.until(t, start.Add(24*time.Hour), start.Add(24*time.Hour+time.Second)); len(m.Lease().Addresses) != 1 {
		t.Errorf("a router that comes late: %+v", m.Lease())
	}
}

// TestResumed6: after a restart what was recorded stands until it expires, and routers are asked at once.
func TestResumed6(t *testing.T) {
	m, now := advertised6(t, advert())
	was := m.Lease()
	m = Resume6(me6, anyAddr, was, now)
	if !m.Lease().SameGrant(was) || len(m.Tick(now)) != 2 || !m.Lease().SameGrant(was) {
		t.Errorf("was %+v\nis %+v", was, m.Lease())
	}
	m.Advertised(now, Advertisement{Router: netip.MustParseAddr("fe80::2")})
	if l := m.Lease(); !l.SameGrant(was) {
		t.Errorf("another router's word changed it: %+v", l)
	}
	later := start.Add(31 * time.Minute)
	if l := Resume6(me6, anyAddr, was, later).Lease(); l.Router.IsValid() || len(l.Addresses) != 1 {
		t.Errorf("after the router's end: %+v", l)
	}
	if l := Resume6(me6, anyAddr, was, start.Add(49*time.Hour)).Lease(); len(l.Addresses) > 0 {
		t.Errorf("after its end: %+v", l)
	}
}

// TestOwnAddress: the agent answers for the address from which it speaks to servers, and for no other; it takes another one if somebody has it.
func TestOwnAddress(t *testing.T) {
	m, now := advertised6(t, advert())
	own := m.link.address
	asks := Neighbour{Sender: gateway, SenderMAC: other, Target: own, Asks: true}
	if sent := m.Heard(now, asks); len(sent) != 1 {
		t.Errorf("%d frames", len(sent))
	} else if p := Parse6(sent[0], nil); p.Neighbour == nil || p.Neighbour.Target != own || p.Neighbour.Asks || p.Neighbour.SenderMAC != me6.MAC {
		t.Errorf("says %+v", p.Neighbour)
	}
	asks.Target = m.Lease().Addresses[0].Address.Addr()
	if sent := m.Heard(now, asks); len(sent) > 0 {
		t.Error("answers for the container")
	}
	m = NewMachine6(me6, anyAddr)
	m.Tick(start)
	m.Heard(start, Neighbour{Sender: own, SenderMAC: other, Target: own})
	if m.until(t, start, start.Add(5*time.Second)); m.link.address == own || !m.link.held() {
		t.Errorf("%+v", m.link)
	}
}
