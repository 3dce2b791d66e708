package program_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/container"
	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/crowd/program"
	"github.com/heddle-network/heddle/crowd/protocol"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/socket"
	"github.com/heddle-network/heddle/test/poll"
)

var (
	own      = netip.MustParseAddr("127.0.0.1")
	stranger = netip.MustParseAddr("127.0.0.2")
)

// running is an nginx of these tests.
type running struct {
	socket.Namespace
	*container.Container
	protocol.Protocol
}

// start starts nginx in a namespace of its own. It admits who comes from own.
func start(t *testing.T, a *program.Authority) running {
	return startWith(t, program.Setting{Authority: a})
}

// startWith starts nginx with more of a setting.
func startWith(t *testing.T, set program.Setting) running {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making namespaces needs root")
	}
	holder, err := socket.NewHolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(holder.Close)
	n, err := holder.New()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("nsenter", "--net="+n.Path(), "ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	found, err := program.Find("nginx")
	if err != nil {
		t.Fatal(err)
	}
	set.Service, set.Host, set.Addrs, set.Admits = "web", "crowd-web", []netip.Addr{own}, []netip.Addr{own}
	set.Connections, set.Seed = 100, 7
	p, speaks, err := found.Prepare(set)
	if err != nil {
		t.Fatal(err)
	}
	c, err := container.Start(n, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	r := running{n, c, speaks}
	poll.For(t, time.Minute, 5*time.Millisecond, "nginx listens", func() bool {
		probe, err := r.dial()
		if err == nil {
			probe.Close()
		}
		return err == nil
	})
	return r
}

func (r running) dial() (net.Conn, error) {
	return r.Dial(context.Background(), netip.AddrPortFrom(own, r.Port()), func(netip.AddrPort) {})
}

// begin is a connection that is ready.
func (r running) begin(t *testing.T) *counter {
	t.Helper()
	c, err := r.dial()
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(time.Minute))
	ready, err := r.Begin(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ready.Close() })
	return &counter{Conn: ready}
}

// counter counts what passes a connection.
type counter struct {
	net.Conn
	sent, received int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.sent += int64(n)
	return n, err
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received += int64(n)
	return n, err
}

// TestSizes: requests and answers have the planned sizes, one after the other on one connection, with and without TLS.
func TestSizes(t *testing.T) {
	authority, err := program.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]*program.Authority{"http": nil, "https": authority} {
		t.Run(name, func(t *testing.T) {
			r := start(t, a)
			c := r.begin(t)
			for i, x := range []protocol.Request{{Sends: 328, Receives: 10_710}, {Receives: 1}, {Sends: 4096, Receives: 2_000_000},
				{Sends: 4097, Receives: 1}, {Sends: 3_000_001, Receives: 200}, {Sends: 400, Receives: protocol.Content},
				{Sends: 400, Receives: 3*protocol.Content + 17}, {Sends: 300, Receives: scenario.Refusal, Refused: true}, {Sends: 300, Receives: 50}} {
				x.Site, x.Page, x.Object = 1+i, 2*i, 3*i
				c.sent, c.received = 0, 0
				if err := r.Ask(c, x); err != nil {
					t.Fatalf("%+v: %v", x, err)
				}
				const heads = 400 // at most, of an answer
				parts := x.Receives/protocol.Content + 2
				if c.received < x.Receives || c.received > x.Receives+parts*heads {
					t.Errorf("%+v: %d bytes were received", x, c.received)
				}
				if c.sent < x.Sends || parts <= 2 && x.Sends >= 300 && c.sent > x.Sends+heads || x.Sends >= 300 && x.Sends <= 4096 && parts <= 2 && c.sent != x.Sends {
					t.Errorf("%+v: %d bytes were sent", x, c.sent)
				}
			}
			if err := r.Ask(c, protocol.Request{Site: 1, Receives: scenario.Refusal + 1, Refused: true}); err == nil || !strings.Contains(err.Error(), "its size") {
				t.Errorf("an answer of another size is taken: %v", err)
			}
		})
	}
}

// TestContents: they are those of the seed, and strangers get nothing.
func TestContents(t *testing.T) {
	r := start(t, nil)
	get := func(c net.Conn, head string) (*http.Response, error) {
		fmt.Fprint(c, head+"\r\nHost: x\r\n\r\n")
		return http.ReadResponse(bufio.NewReader(c), nil)
	}
	want := make([]byte, protocol.Content)
	draw.NewStream(7, "contents", "web").Read(want)
	answer, err := get(r.begin(t), "GET /3/0/0 HTTP/1.1")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(answer.Body); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	var from net.Conn
	err = r.Do(func() (err error) { // it is there: nothing waits
		from, err = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: stranger.AsSlice()}}).Dial("tcp", "127.0.0.1:80")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	from.SetDeadline(time.Now().Add(time.Minute))
	if answer, err := get(from, "GET /3/0/0 HTTP/1.1"); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a stranger: %+v, %v", answer, err)
	}
}

// TestFails: whoever is not the service, a status that was not asked for, and the end of nginx, are told.
func TestFails(t *testing.T) {
	authority, err := program.NewAuthority()
	other, err2 := program.NewAuthority()
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	r := start(t, authority)
	for want, config := range map[string]*tls.Config{
		"certificate of an unknown authority": {RootCAs: other.Pool, ServerName: "crowd-web"},
		"certificate of another name":         {RootCAs: authority.Pool, ServerName: "crowd-files"},
	} {
		c, err := r.dial()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (protocol.HTTP{Host: "crowd-web", TLS: config}).Begin(context.Background(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected %s", err, want)
		}
	}
	c := r.begin(t)
	for range 3 {
		if err := r.Ask(c, protocol.Request{Site: 1, Receives: 5}); err != nil {
			t.Fatal(err)
		}
	}
	if err := (protocol.HTTP{Host: "a b"}).Ask(c, protocol.Request{Receives: 5}); err == nil || !strings.HasSuffix(err.Error(), "HTTP status 400 Bad Request") {
		t.Errorf("%v", err)
	}
	c = r.begin(t)
	r.Close()
	if err := r.Ask(c, protocol.Request{Site: 1, Receives: 5}); err == nil {
		t.Error("nginx answers after its end")
	}
	if !strings.Contains(r.How(), "killed") {
		t.Error(r.How())
	}
}

// TestFind: a program that is not there, and one that is elsewhere, are refused with the package.
func TestFind(t *testing.T) {
	if _, err := program.Find("apache"); !errors.Is(err, heddle.BadArgument.Sentinel()) {
		t.Error(err)
	}
	found, err := program.Find("nginx")
	if err != nil || !strings.HasPrefix(found.Version, "1.") || found.Path != "/usr/sbin/nginx" {
		t.Errorf("%+v, %v", found, err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/nginx", []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if _, err := program.Find("nginx"); !errors.Is(err, heddle.NoTool.Sentinel()) || !strings.Contains(err.Error(), "no container sees") {
		t.Error(err)
	}
}

// TestEnds: over each protocol, a request that is under way when patience or nginx ends says so as sockets do.
func TestEnds(t *testing.T) {
	authority, err := program.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	for name, set := range map[string]program.Setting{"http": {}, "https": {Authority: authority}, "http2": {Authority: authority, HTTP2: true}} {
		t.Run(name, func(t *testing.T) {
			r := startWith(t, set)
			endless := protocol.Request{Site: 1, Receives: 16 << 30}
			tired := r.begin(t).Conn
			time.AfterFunc(100*time.Millisecond, func() { tired.SetDeadline(time.Unix(1, 0)) })
			if err := r.Ask(tired, endless); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("patience: %v", err)
			}
			cut := r.begin(t).Conn
			time.AfterFunc(100*time.Millisecond, r.Close)
			if err := r.Ask(cut, endless); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("nginx ended: %v", err)
			} else {
				t.Log(err)
			}
		})
	}
}
