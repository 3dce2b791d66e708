package program_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/crowd/program"
	"github.com/heddle-network/heddle/crowd/protocol"
)

// TestRedisSizes: requests are as large as planned, and answers but for what frames them, one after the other on one connection.
func TestRedisSizes(t *testing.T) {
	r := startWith(t, "redis", program.Setting{})
	c, wire := r.wire(t)
	if err := r.Ask(c, protocol.Request{Site: 1}); err != nil { // the first one logs in
		t.Fatal(err)
	}
	for i, x := range []protocol.Request{{Sends: 150, Receives: 64}, {Sends: 151, Receives: 1}, {Sends: 64 << 10, Receives: 1 << 20}, {Sends: 1200, Receives: 1<<20 + 1},
		{Sends: 70_000, Receives: 10}, {Sends: 3_000_001, Receives: protocol.Content}, {Sends: 400, Receives: 3*protocol.Content + 17}, {Sends: 200, Receives: 50},
		{Sends: 200, Receives: 256, Refused: true}, {Sends: 200, Receives: 50}} {
		x.Site, x.Page, x.Object = 1+i, 2*i, 3*i
		wire.sent, wire.received = 0, 0
		if err := r.Ask(c, x); err != nil {
			t.Fatalf("%+v: %v", x, err)
		}
		const ask, frame = 70, 40 // at most: the question for a range, what frames an answer
		ranges := (max(x.Receives, 1) + 1<<20 - 1) >> 20
		if wire.sent < x.Sends || wire.sent > x.Sends+(ranges-1)*ask {
			t.Errorf("%+v: %d bytes were sent", x, wire.sent)
		}
		acks := x.Sends/32_000*4 + frame
		if !x.Refused && (wire.received < x.Receives || wire.received > x.Receives+ranges*frame+acks) {
			t.Errorf("%+v: %d bytes were received", x, wire.received)
		}
	}
}

// keeper keeps what is read.
type keeper struct {
	net.Conn
	read []byte
}

func (k *keeper) Read(b []byte) (int, error) {
	n, err := k.Conn.Read(b)
	k.read = append(k.read, b[:n]...)
	return n, err
}

// keeps is all that a program says that is asked for so many bytes, after a first question.
func (r running) keeps(t *testing.T, receives int64) []byte {
	t.Helper()
	c, err := r.dial()
	if err != nil {
		t.Fatal(err)
	}
	kept := &keeper{Conn: c}
	ready, err := r.Begin(t.Context(), kept)
	if err != nil {
		t.Fatal(err)
	}
	defer ready.Close()
	if err := errors.Join(r.Ask(ready, protocol.Request{Site: 1}), r.Ask(ready, protocol.Request{Site: 3, Receives: receives})); err != nil {
		t.Fatal(err)
	}
	return kept.read
}

// TestRedisContents: they are those of the seed.
func TestRedisContents(t *testing.T) {
	read := startWith(t, "redis", program.Setting{}).keeps(t, 100)
	all := make([]byte, protocol.Content)
	draw.NewStream(7, "contents", "web").Read(all)
	if got := read[len(read)-102 : len(read)-2]; !bytes.Contains(all, got) {
		t.Errorf("%x", got)
	}
}

// TestRedisRefuses: whoever has a wrong password is told, and gets nothing.
func TestRedisRefuses(t *testing.T) {
	r := startWith(t, "redis", program.Setting{})
	speaks := r.Protocol.(protocol.Redis)
	c, _ := r.wire(t)
	if err := r.Ask(c, protocol.Request{Site: 1, Sends: 100, Receives: 256, Refused: true}); err != nil {
		t.Errorf("a wrong password: %v", err)
	}
	speaks.Password = "another"
	if err := speaks.Ask(c, protocol.Request{Site: 1}); err == nil || !strings.Contains(err.Error(), "redis says WRONGPASS") {
		t.Errorf("%v", err)
	}
}

// TestRedisStrangers: who has no password gets errors alone, with TLS and without it.
func TestRedisStrangers(t *testing.T) {
	authority, err := program.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	plain, secure := startWith(t, "redis", program.Setting{}), startWith(t, "redis", program.Setting{Authority: authority})
	for _, request := range []string{"GETRANGE content 0 9", "PING", "INFO", "CONFIG GET *", "KEYS *", "HELLO 3", "AUTH default x", "AUTH people x", "AUTH x", "XADD inbox * m x",
		"SUBSCRIBE inbox", "PSYNC ? -1", "SHUTDOWN NOSAVE", "MONITOR", "COMMAND", "EVAL return(1) 0", "*1\r\n$100000000\r\n"} {
		over := tls.Client(secure.approach(t), &tls.Config{RootCAs: authority.Pool, ServerName: "crowd-web"})
		if err := over.Handshake(); err != nil {
			t.Fatal(err)
		}
		for what, c := range map[string]net.Conn{"plain": plain.approach(t), "TLS": over} {
			io.WriteString(c, request+"\r\nGETRANGE content 0 9\r\nQUIT\r\n")
			answer, err := io.ReadAll(c)
			for line := range strings.Lines(string(answer)) {
				if !strings.HasPrefix(line, "-") && line != "+OK\r\n" {
					t.Errorf("%s, %s: %.100q", what, request, line)
				}
			}
			if errors.Is(err, os.ErrDeadlineExceeded) || len(answer) == 0 {
				t.Errorf("%s, %s: %v", what, request, err)
			}
		}
	}
	if err := errors.Join(plain.answers(), secure.answers()); err != nil {
		t.Error(err)
	}
}
