package peer

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// prober sends probes of one IP version, and reads the answers.
type prober struct {
	local netip.Addr
	conn  *net.IPConn
	raw   syscall.RawConn
	// id and mark are in each probe. So echoes of others are not mistaken for ours, and nobody who
	// cannot see our packets can forge an answer.
	id   uint16
	mark [8]byte
	// route is a socket for asking the kernel about paths.
	route int
	// name and mtu are those of the interface with the address.
	name string
	mtu  int
}

// openProbersLocked opens what is not open.
func (p *Peers) openProbersLocked() {
	select {
	case <-p.done:
		return
	default:
	}
	for _, f := range heddle.Families() {
		local, ok := p.self.UnderlayFor(f)
		if !ok || p.probers[f] != nil {
			continue
		}
		e, err := openProber(local)
		if err != nil {
			p.log.Debug("cannot probe yet", "from", local, "error", err)
			continue
		}
		p.probers[f] = e
		p.readInterfaceLocked(f)
		p.all.Go(func() { p.receive(e) })
	}
}

func openProber(local netip.Addr) (*prober, error) {
	e := &prober{local: local}
	var random [2]byte
	rand.Read(random[:])
	rand.Read(e.mark[:])
	e.id = binary.BigEndian.Uint16(random[:])
	network := "ip6:ipv6-icmp"
	if local.Is4() {
		network = "ip4:icmp"
	}
	listen := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		return errors.Join(c.Control(func(fd uintptr) { err = configure(int(fd), heddle.FamilyOf(local)) }), err)
	}}
	conn, err := listen.ListenPacket(context.Background(), network, local.String())
	if err != nil {
		return nil, err
	}
	e.conn = conn.(*net.IPConn)
	if e.raw, err = e.conn.SyscallConn(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	e.route, err = routeSocket(local)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return e, nil
}

// configure makes the kernel send packets unfragmented, whatever path MTU it has cached (ip(7),
// ipv6(7)), and accept only answers.
func configure(fd int, f heddle.Family) error {
	if f == heddle.IPv4 {
		keep := ^uint32(1<<uint(ipv4.ICMPTypeEchoReply) | 1<<uint(ipv4.ICMPTypeDestinationUnreachable))
		const icmpFilter = 1 // ICMP_FILTER (linux/icmp.h)
		return errors.Join(
			unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE),
			unix.SetsockoptInt(fd, unix.SOL_RAW, icmpFilter, int(int32(keep))))
	}
	var filter unix.ICMPv6Filter
	for i := range filter.Data {
		filter.Data[i] = ^uint32(0)
	}
	for _, t := range []ipv6.ICMPType{ipv6.ICMPTypeEchoReply, ipv6.ICMPTypePacketTooBig} {
		filter.Data[int(t)/32] &^= 1 << (uint(t) % 32)
	}
	return errors.Join(
		unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE),
		unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG, 1),
		unix.SetsockoptICMPv6Filter(fd, unix.IPPROTO_ICMPV6, unix.ICMPV6_FILTER, &filter))
}

// closeProberLocked closes the sockets.
func (p *Peers) closeProberLocked(f heddle.Family) {
	if e := p.probers[f]; e != nil {
		e.conn.Close()
		unix.Close(e.route)
		delete(p.probers, f)
	}
}

// headerSize is the size of IP and ICMP headers, in bytes.
func headerSize(f heddle.Family) int { return f.Header() + 8 }

// send sends a probe of the given size, IP header included. A probe that cannot be sent
// counts as lost; for one that is too large for the interface, send records that.
func (p *Peers) send(to *entry, size int) {
	f := heddle.FamilyOf(to.addr)
	e := p.probers[f]
	if e == nil {
		return
	}
	p.seq++
	p.sent[int(p.seq)%len(p.sent)] = probe{to: to, seq: p.seq, size: size, at: p.now()}
	body := make([]byte, size-headerSize(f))
	copy(body, e.mark[:])
	var kind icmp.Type = ipv6.ICMPTypeEchoRequest
	if f == heddle.IPv4 {
		kind = ipv4.ICMPTypeEcho
	}
	text, err := (&icmp.Message{Type: kind, Body: &icmp.Echo{ID: int(e.id), Seq: int(p.seq), Data: body}}).Marshal(nil)
	if err != nil {
		p.log.Error("probe", "error", err)
		return
	}
	var failed error
	err = e.raw.Control(func(fd uintptr) { failed = unix.Sendto(int(fd), text, unix.MSG_DONTWAIT, sockaddr(to.addr, 0)) })
	if errors.Is(failed, unix.EMSGSIZE) {
		p.readInterfaceLocked(f)
		if mtu := p.interfaceMTULocked(f); mtu > 0 && mtu < size {
			to.setMaxMTU(p.now(), mtu)
		}
	} else if failed = errors.Join(err, failed); failed != nil {
		p.log.Debug("probe not sent", "to", to.addr, "size", size, "error", failed)
	}
}

func sockaddr(a netip.Addr, port int) unix.Sockaddr {
	if a.Is4() {
		return &unix.SockaddrInet4{Addr: a.As4(), Port: port}
	}
	return &unix.SockaddrInet6{Addr: a.As16(), Port: port}
}
