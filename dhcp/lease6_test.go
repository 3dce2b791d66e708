package dhcp

import (
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/iana"
)

const (
	server6  = "00030001" + "0a0000000002"
	forger6  = "00030001" + "0a0000000066"
	dhcpTime = 100 * time.Second
)

var given = netip.MustParseAddr("2001:db8:1::50")

// leaseOf is an association with one address, T1 and T2 left to the client.
func leaseOf(a string, preferred, valid time.Duration) Association {
	return Association{Addresses: []LeasedAddress{{netip.MustParseAddr(a), preferred, valid}}}
}

// answer6 is one of the server to the machine's present question.
func answer6(m *Machine6, kind dhcpv6.MessageType, ia Association) Message6 {
	return Message6{Type: kind, XID: m.lease.xid, Client: m.link.address, ClientDUID: duidText(m.id.duid()), Server: server6, IAs: map[[4]byte]Association{m.id.iaid(): ia}}
}

// answer6Frame is such an answer on the wire, from the library's own words.
func answer6Frame(t testing.TB, id Identity6, xid uint32, kind dhcpv6.MessageType, ia Association) []byte {
	t.Helper()
	server, _ := hex.DecodeString(server6)
	duid, err := dhcpv6.DUIDFromBytes(server)
	if err != nil {
		t.Fatal(err)
	}
	m := &dhcpv6.Message{MessageType: kind, TransactionID: dhcpv6.TransactionID{byte(xid >> 16), byte(xid >> 8), byte(xid)}}
	m.AddOption(dhcpv6.OptClientID(id.duid()))
	m.AddOption(dhcpv6.OptServerID(duid))
	o := &dhcpv6.OptIANA{IaId: id.iaid(), T1: ia.T1, T2: ia.T2}
	for _, a := range ia.Addresses {
		o.Options.Add(&dhcpv6.OptIAAddress{IPv6Addr: a.Address.AsSlice(), PreferredLifetime: a.Preferred, ValidLifetime: a.Valid})
	}
	m.AddOption(o)
	b := serversFrame(other, gateway, m.ToBytes())
	to := id.address(linkPrefix, 0).As16()
	copy(b[etherSize+24:], to[:])
	b[etherSize+ip6Size+1], b[etherSize+ip6Size+3] = portServer6&0xff, portClient6&0xff
	return b
}

// managed is the router's advertisement with a DHCPv6 server, and no addresses of hosts' own making.
func managed() Advertisement {
	a := advert()
	a.Managed, a.Prefixes[0].Autonomous = true, false
	return a
}

// solicited6 is a machine that solicits, and when.
func solicited6(t *testing.T) (*Machine6, time.Time) {
	t.Helper()
	m, now := advertised6(t, managed())
	if m.lease.state != selecting || m.lease.tries == 0 || m.Settled() {
		t.Fatalf("does not solicit: %+v", m.lease)
	}
	return m, now
}

// leased6 is a machine that has got a lease for dhcpTime, and when it asked.
func leased6(t *testing.T) (*Machine6, time.Time) {
	t.Helper()
	m, now := solicited6(t)
	m.Receive(now, answer6(m, dhcpv6.MessageTypeAdvertise, leaseOf(given.String(), dhcpTime, dhcpTime)))
	m.Receive(now, answer6(m, dhcpv6.MessageTypeReply, leaseOf(given.String(), dhcpTime, dhcpTime)))
	if m.lease.state != probing || len(m.Lease().Addresses) > 0 {
		t.Fatalf("used before the LAN was asked: %+v", m.lease)
	}
	m.until(t, now, now.Add(time.Second))
	l := m.Lease()
	if !m.Settled() || len(l.Addresses) != 1 || l.Addresses[0].Address != netip.PrefixFrom(given, 64) || l.DHCP != bound || l.Server != server6 ||
		!l.Addresses[0].Valid.Equal(now.Add(dhcpTime)) || !l.Renew.Equal(now.Add(dhcpTime/2)) || !l.Rebind.Equal(now.Add(dhcpTime/5*4)) {
		t.Fatalf("no lease: %+v", l)
	}
	return m, now
}

// kinds are the kinds of DHCPv6 messages among frames.
func kinds(t *testing.T, frames [][]byte) (all []string) {
	t.Helper()
	for _, b := range frames {
		if b[etherSize+6] != protocolUDP {
			continue
		}
		m, err := dhcpv6.MessageFromBytes(b[etherSize+ip6Size+udpSize:])
		if err != nil {
			t.Fatal(err)
		}
		if m.Options.ClientID() == nil || m.Options.OneIANA() == nil {
			t.Errorf("%s", m.Summary())
		}
		all = append(all, m.MessageType.String())
	}
	return all
}

func said(t *testing.T, frames [][]byte, want ...string) {
	t.Helper()
	if got := kinds(t, frames); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("said %v, want %v", got, want)
	}
}

// TestRenewed6: at T1 the server is asked, at T2 all are, and its answer begins the lease anew; so does another's, but not before T2. Without
// one the address ends.
func TestRenewed6(t *testing.T) {
	for name, c := range map[string]struct {
		at     time.Duration
		kind   string
		server string
		want   bool
	}{
		"T1":               {50 * time.Second, "RENEW", server6, true},
		"T1, by another":   {50 * time.Second, "RENEW", forger6, false},
		"T2":               {80 * time.Second, "REBIND", server6, true},
		"T2, by another":   {80 * time.Second, "REBIND", forger6, true},
		"nobody, at first": {50 * time.Second, "RENEW", "", false},
	} {
		m, now := leased6(t)
		at := now.Add(c.at)
		said(t, m.Tick(at), c.kind)
		a := answer6(m, dhcpv6.MessageTypeReply, leaseOf(given.String(), dhcpTime, dhcpTime))
		a.Server = c.server
		m.Receive(at, a)
		if got := m.Lease().Addresses[0].Valid.Equal(at.Add(dhcpTime)); got != c.want {
			t.Errorf("%s: %+v", name, m.Lease())
		}
		if c.want {
			continue
		}
		m.until(t, at, now.Add(dhcpTime-time.Millisecond))
		if len(m.Lease().Addresses) != 1 || m.lease.state != rebinding || m.Lease().Trouble == "" {
			t.Errorf("%s: before its end: %+v", name, m.Lease())
		}
		said(t, m.Tick(now.Add(dhcpTime)), "SOLICIT")
		if len(m.Lease().Addresses) > 0 {
			t.Errorf("%s: used after its end", name)
		}
	}
}

// TestTakenBack6: a server that ends an address is believed; one that has forgotten it is asked anew, and the address stands meanwhile.
func TestTakenBack6(t *testing.T) {
	m, now := leased6(t)
	at := now.Add(50 * time.Second)
	m.Tick(at)
	m.Receive(at, answer6(m, dhcpv6.MessageTypeReply, leaseOf(given.String(), 0, 0)))
	if l := m.Lease(); len(l.Addresses) > 0 || m.lease.state != selecting || l.Trouble == "" {
		t.Errorf("taken back: %+v", l)
	}
	m, _ = leased6(t)
	m.Tick(at)
	m.Receive(at, answer6(m, dhcpv6.MessageTypeReply, Association{Status: iana.StatusNoBinding}))
	said(t, m.Tick(at), "REQUEST")
	if len(m.Lease().Addresses) != 1 {
		t.Errorf("forgotten: %+v", m.Lease())
	}
	m.Receive(at, answer6(m, dhcpv6.MessageTypeReply, leaseOf("2001:db8:1::51", dhcpTime, dhcpTime)))
	m.until(t, at, at.Add(time.Second))
	if l := m.Lease(); len(l.Addresses) != 1 || l.Addresses[0].Address.String() != "2001:db8:1::51/64" {
		t.Errorf("another one: %+v", l)
	}
	for name, ia := range map[string]Association{"too short": leaseOf(given.String(), time.Second, time.Second), "another": leaseOf("2001:db8:1::99", dhcpTime, dhcpTime), "none": {},
		"refused": {Status: iana.StatusUnspecFail, Addresses: leaseOf(given.String(), 0, 0).Addresses}} {
		m, now = leased6(t)
		was := m.Lease()
		m.Tick(now.Add(50 * time.Second))
		if m.Receive(now.Add(50*time.Second), answer6(m, dhcpv6.MessageTypeReply, ia)); !m.Lease().SameGrant(was) || m.lease.state != renewing {
			t.Errorf("%s: %+v", name, m.Lease())
		}
	}
}

// TestForged6: an answer of another transaction, client, association or server counts for nothing, in no state.
func TestForged6(t *testing.T) {
	forge := map[string]func(*Message6){
		"transaction": func(a *Message6) { a.XID++ },
		"client":      func(a *Message6) { a.ClientDUID = forger6 },
		"address":     func(a *Message6) { a.Client = gateway },
		"no server":   func(a *Message6) { a.Server = "" },
		"association": func(a *Message6) { a.IAs = map[[4]byte]Association{{9}: leaseOf(given.String(), dhcpTime, dhcpTime)} },
	}
	for name, change := range forge {
		m, now := solicited6(t)
		a := answer6(m, dhcpv6.MessageTypeAdvertise, leaseOf(given.String(), dhcpTime, dhcpTime))
		change(&a)
		if m.Receive(now, a); m.lease.state != selecting {
			t.Errorf("%s: an offer is taken", name)
		}
	}
	m, now := solicited6(t)
	if m.Receive(now, answer6(m, dhcpv6.MessageTypeReply, leaseOf(given.String(), dhcpTime, dhcpTime))); m.lease.state != selecting {
		t.Error("a confirmation of what nobody offered is taken") // without rapid commit (RFC 8415, 18.2.10)
	}
	m.Receive(now, answer6(m, dhcpv6.MessageTypeAdvertise, leaseOf(given.String(), dhcpTime, dhcpTime)))
	forge["another server"] = func(a *Message6) { a.Server = forger6 }
	for name, change := range forge {
		a := answer6(m, dhcpv6.MessageTypeReply, leaseOf(given.String(), dhcpTime, dhcpTime))
		if change(&a); name == "association" {
			continue // that is a server without an address: it is asked no more
		}
		if m.Receive(now, a); m.lease.state != requesting {
			t.Errorf("%s: a confirmation is taken", name)
		}
	}
	m, now = leased6(t)
	at := now.Add(50 * time.Second)
	m.Tick(at)
	for name, change := range forge {
		a := answer6(m, dhcpv6.MessageTypeReply, leaseOf(given.String(), 0, 0))
		change(&a)
		if m.Receive(at, a); len(m.Lease().Addresses) != 1 {
			t.Errorf("%s: the lease is ended", name)
		}
	}
}

// TestAbsurdOffers: an offer that is no lease is not requested, and the reason is told.
func TestAbsurdOffers(t *testing.T) {
	for name, ia := range map[string]Association{
		"none available":         {Status: iana.StatusNoAddrsAvail},
		"nothing":                {},
		"link-local":             leaseOf("fe80::5", dhcpTime, dhcpTime),
		"multicast":              leaseOf("ff02::5", dhcpTime, dhcpTime),
		"mapped":                 leaseOf("::ffff:192.0.2.5", dhcpTime, dhcpTime),
		"one second":             leaseOf(given.String(), time.Second, time.Second),
		"preferred beyond valid": leaseOf(given.String(), dhcpTime+1, dhcpTime),
	} {
		m, now := solicited6(t)
		if m.Receive(now, answer6(m, dhcpv6.MessageTypeAdvertise, ia)); m.lease.state != selecting || m.Lease().Trouble == "" {
			t.Errorf("%s: %+v", name, m.lease)
		}
	}
	m, now := solicited6(t)
	forever := leaseOf(given.String(), 0xffffffff*time.Second, 0xffffffff*time.Second)
	m.Receive(now, answer6(m, dhcpv6.MessageTypeAdvertise, forever))
	m.Receive(now, answer6(m, dhcpv6.MessageTypeReply, forever))
	if m.until(t, now, now.Add(time.Second)); len(m.Lease().Addresses) != 1 || !m.Lease().Renew.After(now.Add(24*time.Hour)) {
		t.Errorf("for ever: %+v", m.Lease())
	}
}

// TestDeclined6: an address that somebody has is declined, and so is one that the host refuses; a server that gives nothing else is asked
// seldom.
func TestDeclined6(t *testing.T) {
	m, now := solicited6(t)
	offer := leaseOf(given.String(), dhcpTime, dhcpTime)
	m.Receive(now, answer6(m, dhcpv6.MessageTypeAdvertise, offer))
	m.Receive(now, answer6(m, dhcpv6.MessageTypeReply, offer))
	said(t, m.Heard(now, Neighbour{Sender: gateway, SenderMAC: other, Target: given}), "DECLINE")
	if len(m.claims) > 0 || !strings.Contains(m.Lease().Trouble, "is in use by "+string(other)) {
		t.Errorf("%+v", m.Lease())
	}
	m.refuse = func(netip.Prefix) string { return "the host's own" }
	declined, last := 0, now
	for end := now.Add(time.Hour); now.Before(end); now = m.Deadline() {
		m.Tick(now)
		m.Receive(now, answer6(m, dhcpv6.MessageTypeAdvertise, offer))
		if len(kinds(t, m.Receive(now, answer6(m, dhcpv6.MessageTypeReply, offer)))) > 0 {
			if declined++; declined > 1 && now.Sub(last) < declineWait {
				t.Errorf("declined again after %v", now.Sub(last))
			}
			last = now
		}
		if !m.Deadline().After(now) {
			t.Fatal("a busy loop")
		}
	}
	if declined < 2 || declined > 40 {
		t.Errorf("declined %d times in an hour", declined)
	}
	if len(m.Lease().Addresses) > 0 || m.Lease().Trouble != "the host's own" {
		t.Errorf("%+v", m.Lease())
	}
}

// TestExpiredProbe6: a lease that ends while the LAN is asked about its address, since the host was held up, is asked for anew.
func TestExpiredProbe6(t *testing.T) {
	m, now := solicited6(t)
	ia := leaseOf(given.String(), dhcpTime, dhcpTime)
	m.Receive(now, answer6(m, dhcpv6.MessageTypeAdvertise, ia))
	m.Receive(now, answer6(m, dhcpv6.MessageTypeReply, ia))
	if m.lease.state != probing {
		t.Fatalf("%+v", m.lease)
	}
	now = now.Add(dhcpTime)
	m.Tick(now)
	if said(t, m.Tick(m.Deadline()), "SOLICIT"); m.lease.state != selecting {
		t.Errorf("%+v", m.lease)
	}
}

// TestConfirmed6: after a restart servers are asked whether the address is of this link. It stands unless one says no; then it is renewed when
// that is due.
func TestConfirmed6(t *testing.T) {
	was, now := leased6(t)
	again := func() *Machine6 {
		t.Helper()
		m := Resume6(me6, anyAddr, was.Lease(), now.Add(10*time.Second))
		m.Tick(now.Add(10 * time.Second))
		m.until(t, m.Deadline(), now.Add(11*time.Second))
		if m.lease.state != confirming || m.lease.tries == 0 || !m.Lease().SameGrant(was.Lease()) {
			t.Fatalf("%+v\nwas %+v", m.Lease(), was.Lease())
		}
		return m
	}
	at := now.Add(11 * time.Second)
	m := again()
	yes := answer6(m, dhcpv6.MessageTypeReply, Association{})
	m.Receive(at, yes)
	if m.lease.state != bound || !m.Lease().SameGrant(was.Lease()) {
		t.Errorf("yes: %+v", m.lease)
	}
	said(t, m.Tick(now.Add(50*time.Second)), "RENEW")
	m = again()
	no := answer6(m, dhcpv6.MessageTypeReply, Association{})
	no.Status = iana.StatusNotOnLink
	m.Receive(at, no)
	if m.lease.state != selecting || len(m.Lease().Addresses) > 0 {
		t.Errorf("no: %+v", m.Lease())
	}
	m = again()
	m.until(t, at, now.Add(40*time.Second))
	if m.lease.state != bound || len(m.Lease().Addresses) != 1 {
		t.Errorf("nobody: %+v", m.lease)
	}
}

// TestReleased6: what was leased, or is about to be, is given back, and nothing else.
func TestReleased6(t *testing.T) {
	m, _ := leased6(t)
	said(t, m.Release(), "RELEASE")
	said(t, m.Release())
	m, _ = solicited6(t)
	said(t, m.Release())
	m, now := solicited6(t)
	offer := leaseOf(given.String(), dhcpTime, dhcpTime)
	m.Receive(now, answer6(m, dhcpv6.MessageTypeAdvertise, offer))
	m.Receive(now, answer6(m, dhcpv6.MessageTypeReply, offer))
	said(t, m.Release(), "RELEASE")
}

// TestParse6Answer: an answer is read as it was written, and only by who asked; one that may have come from beyond a router is not.
func TestParse6Answer(t *testing.T) {
	want := Association{T1: time.Minute, T2: 2 * time.Minute, Addresses: leaseOf(given.String(), time.Minute, time.Hour).Addresses}
	good := answer6Frame(t, me6, 0x010203, dhcpv6.MessageTypeReply, want)
	ours := func(xid uint32, client netip.Addr) bool {
		return xid == 0x010203 && client == me6.address(linkPrefix, 0)
	}
	m := Parse6(good, ours).Message
	if m == nil || m.Server != server6 || m.ClientDUID != duidText(me6.duid()) || m.IAs[me6.iaid()].T2 != want.T2 || m.IAs[me6.iaid()].Addresses[0] != want.Addresses[0] {
		t.Fatalf("%+v", m)
	}
	for name, bad := range map[string][]byte{
		"of another":   answer6Frame(t, me6, 0x010204, dhcpv6.MessageTypeReply, want),
		"a question":   answer6Frame(t, me6, 0x010203, dhcpv6.MessageTypeSolicit, want),
		"from beyond":  edit(good, func(b []byte) { b[etherSize+8], b[etherSize+9] = 0x20, 1 }),
		"another port": edit(good, func(b []byte) { b[etherSize+ip6Size+3]++ }),
		"too long":     edit(good, func(b []byte) { b[etherSize+ip6Size+4] = 9 }),
		"too short":    edit(good, func(b []byte) { b[etherSize+ip6Size+4], b[etherSize+ip6Size+5] = 0, 9 }),
		"cut off":      good[:len(good)-3],
	} {
		if p := Parse6(bad, ours); p.Message != nil {
			t.Errorf("%s: %+v", name, p.Message)
		}
	}
}

// TestTimes6: T1 and T2 are the server's, or follow from how long the address is preferred; nonsense is not heeded.
func TestTimes6(t *testing.T) {
	for name, c := range map[string]struct{ t1, t2, preferred, renew, rebind time.Duration }{
		"none":               {0, 0, 50 * time.Second, 25 * time.Second, 40 * time.Second},
		"given":              {10 * time.Second, 90 * time.Second, 50 * time.Second, 10 * time.Second, 90 * time.Second},
		"T1 alone":           {10 * time.Second, 0, 50 * time.Second, 10 * time.Second, 40 * time.Second},
		"T2 beyond its end":  {0, 200 * time.Second, 50 * time.Second, 25 * time.Second, 40 * time.Second},
		"T1 after T2":        {60 * time.Second, 30 * time.Second, 50 * time.Second, 25 * time.Second, 30 * time.Second},
		"deprecated at once": {0, 0, 0, 50 * time.Second, 80 * time.Second},
	} {
		m, now := solicited6(t)
		ia := leaseOf(given.String(), c.preferred, dhcpTime)
		ia.T1, ia.T2 = c.t1, c.t2
		m.Receive(now, answer6(m, dhcpv6.MessageTypeAdvertise, ia))
		m.Receive(now, answer6(m, dhcpv6.MessageTypeReply, ia))
		m.until(t, now, now.Add(time.Second))
		if l := m.Lease(); l.Renew.Sub(now) != c.renew || l.Rebind.Sub(now) != c.rebind {
			t.Errorf("%s: T1 %v, T2 %v", name, l.Renew.Sub(now), l.Rebind.Sub(now))
		}
	}
}
