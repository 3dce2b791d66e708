package kernel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink"
)

// Connect connects the hosts of two stages by a wire. Both ends have the name and the addresses,
// and are up. IPv6 addresses are left out on a kernel without IPv6.
func (s *Stage) Connect(other *Stage, name string, mine, theirs []string) error {
	near, err := s.host.handle()
	if err != nil {
		return refused("make interface", name, err)
	}
	defer near.Close()
	far, err := other.host.handle()
	if err != nil {
		return refused("make interface", name, err)
	}
	defer far.Close()
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	if err := near.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: name, PeerNamespace: netlink.NsFd(other.host.fd)}); err != nil {
		return refused("make interface", name, err)
	}
	for _, end := range []struct {
		h     *netlink.Handle
		addrs []string
	}{{near, mine}, {far, theirs}} {
		link, err := end.h.LinkByName(name)
		if err == nil {
			err = end.h.LinkSetUp(link)
		}
		if err != nil {
			return refused("make interface", name, err)
		}
		if err := address(end.h, link, end.addrs, nil); err != nil {
			return err
		}
	}
	return nil
}

// replyTimeout bounds the wait for a packet between two stages. On a busy machine the kernel may
// notice the carrier of their links late.
const replyTimeout = 5 * time.Second

// Reaches sends UDP packets from the stage's container to another's, at the
// address to, until one has been answered.
func (s *Stage) Reaches(other *Stage, to netip.Addr) error {
	var far, near *net.UDPConn
	err := other.pod.Do(func() (err error) {
		far, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, 0)))
		return err
	})
	if err != nil {
		return refused("listen at", to.String(), err)
	}
	defer far.Close()
	err = s.pod.Do(func() (err error) {
		near, err = net.DialUDP("udp", nil, far.LocalAddr().(*net.UDPAddr))
		return err
	})
	if err != nil {
		return refused("send to", to.String(), err)
	}
	defer near.Close()
	go answer(far)
	if err := ask(near); err != nil {
		return heddle.Wrap(heddle.NotOnKernel, "send through a tunnel to", to.String(), err, "see 'heddle doctor', which looks for what drops the packets")
	}
	return nil
}

// answer sends received packets back until the socket is closed.
func answer(c *net.UDPConn) {
	b := make([]byte, 64)
	for {
		n, from, err := c.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		_, _ = c.WriteToUDPAddrPort(b[:n], from) // a lost answer is asked for again
	}
}

func ask(c *net.UDPConn) error {
	last := errors.New("nothing sent")
	b := make([]byte, 64)
	for end := time.Now().Add(replyTimeout); time.Now().Before(end); {
		if _, last = c.Write([]byte("heddle")); last != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if _, last = c.Read(b); last == nil {
			return nil
		}
		if !errors.Is(last, os.ErrDeadlineExceeded) {
			time.Sleep(10 * time.Millisecond) // refused, or no route yet
		}
	}
	return fmt.Errorf("no answer within %v: %w", replyTimeout, last)
}
