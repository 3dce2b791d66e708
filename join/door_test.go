package join

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
)

// TestSlowGuests has as many callers at a door as it has slots. They never finish their requests;
// others are served nevertheless.
func TestSlowGuests(t *testing.T) {
	type question struct{ Name string }
	room := make(chan struct{}, 1)
	door := httptest.NewTLSServer(handler(room, func(_ context.Context, q question, _ *x509.Certificate) (any, error) { return q, nil }))
	defer door.Close()
	insecure := &tls.Config{InsecureSkipVerify: true}
	for range cap(room) {
		conn := must(tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", door.Listener.Addr().String(), insecure))
		defer conn.Close()
		must(conn.Write([]byte("POST / HTTP/1.1\r\nHost: door\r\nContent-Length: 100\r\n\r\n{")))
	}
	time.Sleep(200 * time.Millisecond) // the handler reads by now
	resp := must(door.Client().Post(door.URL, "application/json", strings.NewReader(`{"name": "a"}`)))
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("the door answers %s", resp.Status)
	}
	resp = must(door.Client().Post(door.URL, "application/json", strings.NewReader(`{"name": "`+strings.Repeat("a", maxDoorRequest)+`"}`)))
	defer resp.Body.Close()
	if resp.StatusCode != 403 {
		t.Errorf("the door answers a long question with %s", resp.Status)
	}
}

// TestTokenFirst calls with an invented token and an invalid request: the token is checked before
// any costly work.
func TestTokenFirst(t *testing.T) {
	h := newHosts(t)
	n := h.start(1, nil)
	c := doorCaller{pin: fingerprint(n.ca), now: time.Now}
	q := joinRequest{Secret: make([]byte, 16), identity: identity{"host2", "0123456789abcdef"}, Underlay: h.options(2).Underlay, Request: []byte("none"), Clock: time.Now()}
	wantCode(t, c.call(h.ctx(), "127.0.0.1:9478", pathJoin, q, &joinReply{}), heddle.BadToken, "not one of this cluster")
}
