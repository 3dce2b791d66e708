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
	"os"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/crowd/program"
	"github.com/heddle-network/heddle/crowd/protocol"
	"github.com/heddle-network/heddle/crowd/scenario"
)

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
				{Sends: 400, Receives: 3*protocol.Content + 17}, {Sends: 300, Receives: scenario.Refusal, Refused: true}, {Sends: 300, Receives: 50},
				{Sends: 328, Receives: 0, Has: protocol.Current}, {Sends: 328, Receives: 100_000, Has: protocol.Old}, {Sends: 300, Receives: 2*protocol.Content + 17, Has: protocol.Old},
				{Sends: 300, Has: protocol.Current}} {
				x.Site, x.Page, x.Object = 1+i, 2*i, 3*i
				c.sent, c.received, c.heard = 0, 0, [32]byte{}
				if err := r.Ask(c, x); err != nil {
					t.Fatalf("%+v: %v", x, err)
				}
				const heads = 400 // at most, of an answer
				parts := x.Receives/protocol.Content + 2
				if c.received < x.Receives || c.received > x.Receives+parts*heads {
					t.Errorf("%+v: %d bytes were received", x, c.received)
				}
				if says := strings.HasPrefix(string(c.heard[:]), "HTTP/1.1 304 Not Modified\r\n"); says != (x.Has == protocol.Current) || says && c.received > heads {
					t.Errorf("%+v: nginx says %q, and sends %d bytes", x, c.heard, c.received)
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

// TestContents: they are those of the seed.
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

// TestKnown: each program that a scenario may name is found here, with its version, and is in the guide.
func TestKnown(t *testing.T) {
	guide, err := os.ReadFile("../../docs/guides/crowd.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range scenario.KnownPrograms() {
		if found, err := program.Find(name); err != nil || strings.Trim(found.Version, "0123456789.p") != "" {
			t.Errorf("%s %q: %v", name, found.Version, err)
		}
		if !strings.Contains(string(guide), "| `"+name+"` |") {
			t.Errorf("%s is not in the guide", name)
		}
	}
}
