package kernel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
)

// logHost is a host with a bridge whose frames from port p1 to port p2 are logged; send sends one to p1.
func logHost(t *testing.T) (k *Kernel, send func(frame []byte)) {
	t.Helper()
	ns := newNetns(t, "log")
	host := openNetns(t, ns)
	cell.Sh(t, `ip netns exec %s sh -e -c 'sysctl -qw net.ipv6.conf.default.disable_ipv6=1; sysctl -qw net.bridge.bridge-nf-call-iptables=0 net.bridge.bridge-nf-call-ip6tables=0 || true
ip link add br0 type bridge
for p in p1 p2; do ip link add $p type veth peer name far-$p; ip link set $p master br0; ip link set $p up; ip link set far-$p up; done
ip link set br0 up
nft "add table bridge t; add chain bridge t c { type filter hook forward priority 0; }; add rule bridge t c iifname p1 oifname p2 log prefix there group 7 drop"'`, ns)
	_, err := poll.Until(20*time.Second, 20*time.Millisecond, func() error {
		if now := cell.Sh(t, "ip netns exec %s bridge link", ns); strings.Count(now, "state forwarding") < 2 {
			return errors.New(now)
		}
		return nil
	})
	cell.Must(t, err)
	cell.Must(t, host.Do(func() (err error) { k, err = Open(); return err }))
	t.Cleanup(func() { k.Close() })
	var fd int
	cell.Must(t, host.Do(func() (err error) {
		fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		return err
	}))
	t.Cleanup(func() { unix.Close(fd) })
	link, err := k.hostSession().ifindex("far-p1")
	cell.Must(t, err)
	return k, func(frame []byte) {
		t.Helper()
		cell.Must(t, unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: link}))
	}
}

// broadcast is a frame to everybody, of a type.
func broadcast(ether uint16, payload ...byte) []byte {
	return slices.Concat(bytes.Repeat([]byte{0xff}, 6), []byte{2, 0, 0, 0, 0, 1}, binary.BigEndian.AppendUint16(nil, ether), payload, make([]byte, 46))
}

// TestPacketLog: packets are told with the ports, the type and the beginning; a tagged one with the type of its first tag.
func TestPacketLog(t *testing.T) {
	k, send := logHost(t)
	told := make(chan LoggedPacket, 100)
	l, err := k.LogPackets(7, 20, func(p LoggedPacket) { p.Data = slices.Clone(p.Data); told <- p }, func(err error) { t.Error(err) })
	cell.Must(t, err)
	for _, c := range []struct {
		ether          uint16
		payload, begin string
	}{{0x0800, "E is IP's version", "E is IP's version"}, {0x86dd, "`", "`"}, {0x88cc, "", ""},
		{0x8100, "\x00\x07\x08\x00E", "E"}, {0x88a8, "\x20\x07\x81\x00\x00\x08\x86\xdd`", "\x00\x08\x86\xdd`"}} {
		send(broadcast(c.ether, []byte(c.payload)...))
		p := next(t, told)
		if p.Prefix != "there" || p.From != "p1" || p.To != "p2" || p.Ether != c.ether || len(p.Data) != 20 || !bytes.HasPrefix(p.Data, []byte(c.begin)) || p.Lost != 0 {
			t.Errorf("of a frame of type %#x with %q, told is %+v, of type %#x", c.ether, c.payload, p, p.Ether)
		}
	}
	send(broadcast(0x88cc)[:14]) // a header with nothing behind it
	if p := next(t, told); p.From != "p1" || p.To != "p2" || p.Ether != 0x88cc || len(p.Data) != 0 || p.Lost != 0 {
		t.Errorf("of an empty frame, told is %+v", p)
	}
	if _, err := k.LogPackets(7, 20, nil, nil); err == nil {
		t.Error("a group has two listeners")
	}
	cell.Must(t, l.Close())
	send(broadcast(0x0800))
	if l, err = k.LogPackets(7, 20, func(p LoggedPacket) { told <- p }, func(error) {}); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if len(told) > 0 {
		t.Errorf("told after the end: %+v", <-told)
	}
}

// TestPacketLogFull: packets that come faster than they are read are counted, and the log goes on.
func TestPacketLogFull(t *testing.T) {
	k, send := logHost(t)
	var told, lost atomic.Int64
	stalled := make(chan struct{})
	l, err := k.LogPackets(7, 96, func(p LoggedPacket) {
		<-stalled
		lost.Add(int64(p.Lost))
		told.Add(1)
	}, func(err error) { t.Error(err) })
	cell.Must(t, err)
	defer l.Close()
	frame, sent := broadcast(0x0800, make([]byte, 100)...), int64(30000)
	for range sent {
		send(frame)
	}
	close(stalled)
	_, err = poll.Until(20*time.Second, 200*time.Millisecond, func() error {
		if now := told.Load() + lost.Load(); now != sent {
			send(frame) // says how many before it are lost
			sent++
			return fmt.Errorf("of %d packets %d are told or said to be lost", sent, now)
		}
		return nil
	})
	if err != nil || lost.Load() == 0 {
		t.Errorf("%d are lost: %v", lost.Load(), err)
	}
}

// TestPacketLogEnds: a log that cannot be read any more says so, once, and another one can be had.
func TestPacketLogEnds(t *testing.T) {
	k, send := logHost(t)
	ended, told := make(chan error, 9), make(chan LoggedPacket, 9)
	l, err := k.LogPackets(7, 96, func(LoggedPacket) {}, func(err error) { ended <- err })
	cell.Must(t, err)
	_, err = l.log.Con.Send(netlink.Message{Header: netlink.Header{Type: unix.NFNL_SUBSYS_ULOG<<8 | 99, Flags: netlink.Request}, Data: make([]byte, 4)}) // is answered with an error
	cell.Must(t, err)
	if err := next(t, ended); err == nil || l.Err() == nil {
		t.Errorf("ended by %v; %v", err, l.Err())
	}
	cell.Must(t, l.Close())
	l, err = k.LogPackets(7, 96, func(p LoggedPacket) { told <- p }, func(err error) { ended <- err })
	cell.Must(t, err)
	send(broadcast(0x0800))
	next(t, told)
	cell.Must(t, l.Close())
	if len(ended) > 0 {
		t.Errorf("told again: %v", <-ended)
	}
}

// next is what comes next.
func next[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(10 * time.Second):
		t.Fatal("nothing comes")
	}
	return v
}
