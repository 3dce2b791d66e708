package resolver

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// socket is where containers ask: one address, by UDP and by TCP. By UDP it has several sockets,
// over which the kernel spreads the sources: a flood fills the buffer of one.
type socket struct {
	udp []*net.UDPConn
	tcp *net.TCPListener
}

// spread is the number of sockets, a power of two.
const spread = 16

// receiveBuffer is what is asked of the kernel for each, which may give less.
const receiveBuffer = 1 << 20

func listen(a netip.Addr) (s *socket, err error) {
	at, family := netip.AddrPortFrom(a, port), "6"
	if a.Is4() {
		family = "4"
	}
	s = &socket{}
	for range spread {
		udp, err := listenUDP("udp"+family, at)
		if err != nil {
			s.close()
			return nil, err
		}
		s.udp = append(s.udp, udp)
	}
	if s.tcp, err = listenTCP("tcp"+family, at); err == nil {
		err = onSocket(s.udp[0], func(fd int) error { return spreadSources(fd, a.Is4()) })
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func listenTCP(network string, at netip.AddrPort) (*net.TCPListener, error) {
	l, err := listenConfig(at).Listen(context.Background(), network, at.String())
	if err != nil {
		return nil, err
	}
	return l.(*net.TCPListener), nil
}

func listenUDP(network string, at netip.AddrPort) (*net.UDPConn, error) {
	c, err := listenConfig(at, option{unix.SOL_SOCKET, unix.SO_REUSEPORT}).ListenPacket(context.Background(), network, at.String())
	if err != nil {
		return nil, err
	}
	udp := c.(*net.UDPConn)
	if err := udp.SetReadBuffer(receiveBuffer); err != nil {
		return nil, errors.Join(err, udp.Close())
	}
	return udp, nil
}

// option is a socket option that is turned on.
type option struct{ level, name int }

// listenConfig opens sockets with these options, also where the address is not there yet (ip(7),
// IP_FREEBIND): a container may ask as soon as its network has the address.
func listenConfig(at netip.AddrPort, options ...option) *net.ListenConfig {
	early := option{unix.SOL_IPV6, unix.IPV6_FREEBIND}
	if at.Addr().Is4() {
		early = option{unix.SOL_IP, unix.IP_FREEBIND}
	}
	options = append(options, early)
	return &net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		failed := c.Control(func(fd uintptr) {
			for _, o := range options {
				err = errors.Join(err, unix.SetsockoptInt(int(fd), o.level, o.name, 1))
			}
		})
		return errors.Join(failed, err)
	}}
}

func onSocket(c *net.UDPConn, do func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	failed := raw.Control(func(fd uintptr) { err = do(int(fd)) })
	return errors.Join(failed, err)
}

// spreadSources has the kernel choose the socket by the last bits of a packet's source: networks
// give out one address after the other.
func spreadSources(fd int, v4 bool) error {
	const networkHeader = 0xfff00000 // SKF_NET_OFF of linux/filter.h
	source := uint32(20)             // the last four bytes of an IPv6 source
	if v4 {
		source = 12
	}
	raw, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: networkHeader + source, Size: 4},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: spread - 1},
		bpf.RetA{},
	})
	if err != nil {
		return err
	}
	var code []unix.SockFilter
	for _, i := range raw {
		code = append(code, unix.SockFilter{Code: i.Op, Jt: i.Jt, Jf: i.Jf, K: i.K})
	}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF, &unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]})
}

func (s *socket) close() {
	for _, udp := range s.udp {
		udp.Close()
	}
	if s.tcp != nil {
		s.tcp.Close()
	}
}
