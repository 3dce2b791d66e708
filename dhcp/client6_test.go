package dhcp

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv6"

	"github.com/heddle-network/heddle"
)

// lan6 is a lan with a router, and with a DHCPv6 server that gives one address to everybody.
type lan6 struct {
	lan
	quiet bool // there is no router
	said6 []string
}

func (l *lan6) open() (Wire, error) { l.lan.open(); return l, nil }

func (l *lan6) Send(frame []byte) error {
	if frame[12] != etherIPv6>>8 {
		return l.lan.Send(frame)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	ip, payload := frame[etherSize:], frame[etherSize+ip6Size:]
	switch {
	case ip[6] == protocolICMPv6 && payload[0] == 133 && !l.quiet:
		l.frames <- frameOf(nil6{}, gateway, allNodes)
	case ip[6] == protocolUDP:
		m, err := dhcpv6.MessageFromBytes(payload[udpSize:])
		if err != nil {
			return err
		}
		l.said6 = append(l.said6, m.MessageType.String())
		kind := map[dhcpv6.MessageType]dhcpv6.MessageType{dhcpv6.MessageTypeSolicit: dhcpv6.MessageTypeAdvertise, dhcpv6.MessageTypeRequest: dhcpv6.MessageTypeReply}[m.MessageType]
		if kind != 0 {
			id := me6
			if !m.Options.ClientID().Equal(id.duid()) {
				id = db6
			}
			xid := uint32(m.TransactionID[0])<<16 | uint32(m.TransactionID[1])<<8 | uint32(m.TransactionID[2])
			l.frames <- answer6Frame(nil6{}, id, xid, kind, leaseOf(given.String(), dhcpTime, dhcpTime))
		}
	}
	return nil
}

// nil6 is for helpers that have nothing to report here.
type nil6 struct{ testing.TB }

func (nil6) Helper() {}

var (
	db  = heddle.EndpointID{Container: "db", IfName: "eth0"}
	db6 = NewIdentity6("0123456789abcdef", db, "0a:00:00:00:00:03")
)

// TestClient6: a client has both, waits for both, gives a server's address to one endpoint alone, and gives all back.
func TestClient6(t *testing.T) {
	l := &lan6{}
	c := NewClient(l.open, func(heddle.EndpointID) {})
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c.Keep(web, NewMachine(me, anyAddr), NewMachine6(me6, anyAddr))
	got, err := c.Await(ctx, web)
	if err != nil || !got.Held || got.IPv6 == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	var all []netip.Addr
	for _, a := range got.IPv6.Addresses {
		all = append(all, a.Address.Addr())
	}
	if want := []netip.Addr{me6.address(site, 0), given}; !slices.Equal(all, want) || got.IPv6.Router != gateway {
		t.Fatalf("%+v, want %v", *got.IPv6, want)
	}
	if soon(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return slices.Equal(l.hears, []heddle.MAC{groupMAC(allNodes)})
	}); !c.AsksAs(me.MAC) {
		t.Error("does not ask")
	}
	c.Keep(db, NewMachine(NewIdentity("0123456789abcdef", db, "0a:00:00:00:00:03"), anyAddr), NewMachine6(db6, anyAddr))
	soon(t, func() bool {
		l, _ := c.Lease(db)
		return l.IPv6.Trouble == "endpoint web/eth0 has "+given.String() && len(l.IPv6.Addresses) == 1
	})
	c.End(db)
	c.End(web)
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.Idle(); !slices.Contains(l.said6, "DECLINE") || l.said6[len(l.said6)-1] != "RELEASE" {
		t.Errorf("said %v", l.said6)
	}
}

// TestClientNoRouter: who waits on a LAN without routers gets the lease alone, in time.
func TestClientNoRouter(t *testing.T) {
	l := &lan6{quiet: true}
	c := NewClient(l.open, func(heddle.EndpointID) {})
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c.Keep(web, NewMachine(me, anyAddr), NewMachine6(me6, anyAddr))
	if got, err := c.Await(ctx, web); err != nil || ctx.Err() != nil || !got.Held || got.IPv6.State != soliciting {
		t.Errorf("%+v, %v", got, err)
	}
	c.Keep(db, NewMachine(NewIdentity("0123456789abcdef", db, "0a:00:00:00:00:03"), anyAddr), NewMachine6(db6, anyAddr))
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, err := c.Await(short, db); err == nil || got.Held {
		t.Errorf("without a lease: %+v, %v", got, err)
	}
}

// TestAllowance: so many advertisements are read at once, and then as time goes by.
func TestAllowance(t *testing.T) {
	var a allowance
	taken := 0
	for i := range 1000 {
		if a.take(start.Add(time.Duration(i) * time.Millisecond)) {
			taken++
		}
	}
	if taken != advertisementBurst+9 {
		t.Errorf("%d taken in a second", taken)
	}
}
