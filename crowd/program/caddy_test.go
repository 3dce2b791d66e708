package program_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/heddle-network/heddle/crowd/program"
	"github.com/heddle-network/heddle/crowd/protocol"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// startCaddy starts caddy in a namespace of its own. It admits who comes from own.
func startCaddy(t *testing.T) (running, *program.Authority) {
	t.Helper()
	authority, err := program.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	return startWith(t, "caddy", program.Setting{Authority: authority, HTTP: 3}), authority
}

// TestHTTP3: answers have the planned sizes, one after the other and beside each other on one connection; what is not to be had is refused.
func TestHTTP3(t *testing.T) {
	r, _ := startCaddy(t)
	c := r.begin(t).Conn
	asked := []protocol.Request{{Sends: 328, Receives: 10_710}, {Receives: 1}, {Sends: 4096, Receives: 2_000_000}, {Sends: 400, Receives: protocol.Content},
		{Sends: 400, Receives: 2*protocol.Content + 17}, {Sends: 300, Receives: scenario.Refusal, Refused: true}, {Sends: 300, Receives: 50},
		{Sends: 328, Has: protocol.Current}, {Sends: 328, Receives: 100_000, Has: protocol.Old}}
	done := make(chan error)
	for i, x := range asked {
		x.Site, x.Page, x.Object = 1+i, 2*i, 3*i
		if err := r.Ask(c, x); err != nil {
			t.Fatalf("%+v: %v", x, err)
		}
		go func() { done <- r.Ask(c, x) }()
	}
	for range asked {
		if err := <-done; err != nil {
			t.Errorf("beside others: %v", err)
		}
	}
	for want, x := range map[string]protocol.Request{"its size": {Site: 1, Receives: scenario.Refusal + 1, Refused: true}, "no body": {Site: 1, Sends: 5000}} {
		if err := r.Ask(c, x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", x, err)
		}
	}
}

// TestHTTP3Fails: whoever is not the service, and where nobody listens, are told.
func TestHTTP3Fails(t *testing.T) {
	r, authority := startCaddy(t)
	other, err := program.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	as := func(config *tls.Config) protocol.HTTP3 {
		return protocol.HTTP3{HTTP2: protocol.HTTP2{HTTP: protocol.HTTP{Host: "crowd-web", TLS: config}}}
	}
	forged, err := r.dial()
	if err != nil {
		t.Fatal(err)
	}
	_, err = as(&tls.Config{RootCAs: other.Pool, ServerName: "crowd-web"}).Begin(context.Background(), forged)
	if err == nil || !strings.Contains(err.Error(), "certificate of an unknown authority") {
		t.Error(err)
	}
	c := r.begin(t).Conn
	r.Close()
	again, err := r.dial()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := as(&tls.Config{RootCAs: authority.Pool, ServerName: "crowd-web"}).Begin(context.Background(), again); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("nobody listens: %v", err)
	}
	if err := r.Ask(c, protocol.Request{Site: 1, Receives: 5}); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("it ended: %v", err)
	}
}

// TestHTTP3Strangers: whoever is not admitted gets no connection, and who is has one meanwhile.
func TestHTTP3Strangers(t *testing.T) {
	r, _ := startCaddy(t)
	var c net.Conn
	err := r.Do(func() (err error) {
		c, err = net.DialUDP("udp", &net.UDPAddr{IP: stranger.AsSlice()}, net.UDPAddrFromAddrPort(netip.AddrPortFrom(own, r.Port())))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	guest := r.begin(t).Conn
	refused := &quic.TransportError{}
	if _, err := r.Begin(ctx, c); !errors.As(err, &refused) || !refused.Remote || !refused.ErrorCode.IsCryptoError() {
		t.Errorf("a stranger: %v", err)
	}
	if err := r.Ask(guest, protocol.Request{Site: 1, Receives: 50}); err != nil {
		t.Error(err)
	}
}
