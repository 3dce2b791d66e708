package link

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/socket"
	"github.com/heddle-network/heddle/frames"
	"github.com/heddle-network/heddle/impair"
)

// TestRate: what is sent, and what is received, takes as long as the rate says, in both families.
func TestRate(t *testing.T) {
	user, other := pair(t)
	put(t, user, scenario.Link{Rate: 1_000_000})
	const size = 40_000 // 320 ms
	for _, at := range far {
		l, err := other.Listen(at)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c := dial(t, user, at)
		peer, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		for way, ends := range map[string][2]io.ReadWriter{"out": {c, peer}, "in": {peer, c}} {
			begun := time.Now()
			go ends[0].Write(make([]byte, size))
			if _, err := io.ReadFull(ends[1], make([]byte, size)); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); took < 300*time.Millisecond {
				t.Errorf("%s %s: %d bytes at 1 Mbit/s took %s", at, way, size, took)
			}
		}
		peer.Close()
	}
}

// datagrams sends numbered datagrams, and says which of the first hundred arrive.
func datagrams(t *testing.T, from, to socket.Namespace, at netip.AddrPort) (arrived []byte) {
	t.Helper()
	var l *net.UDPConn
	if err := to.Do(func() (err error) {
		l, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := from.DialUDP(at)
	if err != nil {
		t.Fatal(err)
	}
	const count, end = 100, 255
	var sending sync.WaitGroup
	defer sending.Wait()
	defer c.Close()
	sending.Go(func() { // until it is closed; the end is said more than once, and behind what is late
		for i := 0; ; i++ {
			if _, err := c.Write([]byte{byte(min(i, end))}); err != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
	l.SetReadDeadline(time.Now().Add(time.Minute))
	for b := make([]byte, 1); ; {
		if _, err := l.Read(b); err != nil {
			t.Fatal(err)
		}
		if b[0] == end {
			return arrived
		}
		if b[0] < count {
			arrived = append(arrived, b[0])
		}
	}
}

// TestLoss: a part of the frames is lost, each way, in both families; others come late.
func TestLoss(t *testing.T) {
	user, other := pair(t)
	l := put(t, user, scenario.Link{Impairment: impair.Impairment{Loss: 0.3, Reorder: 0.3}})
	for i, at := range far {
		back := netip.AddrPortFrom(netip.MustParseAddr([]string{"10.9.0.1", "fd09::1"}[i]), at.Port())
		for way, got := range map[string][]byte{"out": datagrams(t, user, other, at), "in": datagrams(t, other, user, back)} {
			if len(got) == 0 || len(got) == 100 || slices.IsSorted(got) {
				t.Errorf("%s %s: of 100 datagrams, 30 %% lost, 30 %% late, these arrive: %v", at, way, got)
			}
		}
	}
	if c := l.Counted(); c.Frames < 400 || c.Lost == 0 || c.Reordered == 0 || c.Refused+c.Overflown+c.Corrupted+c.Duplicated != 0 {
		t.Errorf("counted are %+v", c)
	}
}

// TestSegments: a link has frames of packets, not TCP's large segments, each way, in both families.
func TestSegments(t *testing.T) {
	user, other := pair(t)
	const size, most = 1 << 20, 1500
	l := put(t, user, scenario.Link{})
	for _, at := range far {
		before := l.Counted().Frames
		echo(t, other, at)
		c := dial(t, user, at)
		go c.Write(make([]byte, size))
		if _, err := io.ReadFull(c, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if got := l.Counted().Frames - before; got < 2*size/most {
			t.Errorf("%s: %d bytes each way passed in %d frames", at, size, got)
		}
	}
}

// TestNoPort: an interface that is not there is named.
func TestNoPort(t *testing.T) {
	user, _ := pair(t)
	l := &Links{}
	defer l.Close()
	if err := l.Put(user, "eth9", scenario.Link{}, 0, 1); err == nil || !strings.Contains(err.Error(), "eth9") {
		t.Error(err)
	}
}

// TestForged: a frame that says on the network what only the detour says is lost, and does not come back.
func TestForged(t *testing.T) {
	user, other := pair(t)
	put(t, user, scenario.Link{})
	var wire *frames.Socket
	if err := other.Do(func() (err error) { wire, err = frames.Open("eth0"); return err }); err != nil {
		t.Fatal(err)
	}
	defer wire.Close()
	const experimental = 0x88b5 // an EtherType that is for nobody (IEEE 802)
	frame := append(make([]byte, impair.HeaderSize), 2, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 2, experimental>>8, experimental&0xff)
	frame = append(frame, make([]byte, 46)...)
	if _, err := wire.Write(frame); err != nil {
		t.Fatal(err)
	}
	if c, err := user.DialUDP(far[0]); err != nil { // whose datagram follows what is forged, in order
		t.Fatal(err)
	} else {
		defer c.Close()
		c.Write([]byte("the last"))
	}
	wire.SetReadDeadline(time.Now().Add(time.Minute))
	for {
		b, _, err := wire.Next()
		switch {
		case err != nil:
			t.Fatal(err)
		case bytes.HasSuffix(b, []byte("the last")):
			return
		case len(b) > impair.HeaderSize+14 && binary.BigEndian.Uint16(b[impair.HeaderSize+12:]) == experimental:
			t.Fatal("the forged frame came back")
		}
	}
}
