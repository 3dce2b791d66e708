package lab

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

const nicTime = 10 * time.Second // limit for the kernel to show all NICs

// wire names the guest's NICs and sets them up like those of a host made of namespaces. It
// returns the control channel's listener, on a NIC in a hidden network namespace.
func (m *machineSpec) wire() (net.Listener, error) {
	s, err := ownNamespace()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	l, err := s.listenOutOfSight(m.Control)
	if err != nil {
		return nil, fmt.Errorf("the control channel: %w", err)
	}
	if err := s.raise("lo", nil); err != nil {
		return nil, err
	}
	// A name may be in use by another NIC, so all NICs get temporary names first.
	for i, nic := range m.NICs {
		if err := s.rename(nic.MAC, fmt.Sprintf("nic%d", i)); err != nil {
			return nil, err
		}
	}
	for i, nic := range m.NICs {
		if err := s.rename(nic.MAC, NICName(i)); err != nil {
			return nil, err
		}
		if err := s.setMTU(NICName(i), nic.MTU); err != nil {
			return nil, err
		}
		if len(nic.Addresses) == 0 {
			continue
		}
		if nic.Router {
			if err := s.sysctl("net/ipv6/conf/"+NICName(i)+"/accept_dad", "0"); err != nil {
				return nil, err
			}
		}
		if err := s.raise(NICName(i), nic.Addresses); err != nil {
			return nil, err
		}
	}
	return l, s.addRoutes(m.Routes)
}

func ownNamespace() (*namespace, error) { return openNamespace(netns.Get()) }

func (s *namespace) byMAC(mac string) (netlink.Link, error) {
	for end := time.Now().Add(nicTime); ; time.Sleep(10 * time.Millisecond) {
		all, err := s.LinkList()
		if err != nil {
			return nil, err
		}
		for _, link := range all {
			if link.Attrs().HardwareAddr.String() == mac {
				return link, nil
			}
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("no NIC has the address %s", mac)
		}
	}
}

func (s *namespace) rename(mac, name string) error {
	link, err := s.byMAC(mac)
	if err != nil {
		return err
	}
	return s.LinkSetName(link, name)
}

// listenOutOfSight listens on the control channel's NIC in a network namespace of its own.
// The namespace exists as long as the listener.
func (s *namespace) listenOutOfSight(mac string) (l net.Listener, err error) {
	link, err := s.byMAC(mac)
	if err != nil {
		return nil, err
	}
	err = s.within(func() error {
		apart, err := netns.New() // within brings the thread back
		if err != nil {
			return err
		}
		defer apart.Close()
		if err := s.LinkSetNsFd(link, int(apart)); err != nil {
			return err
		}
		handle, err := netlink.NewHandleAt(apart, unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		in := &namespace{handle, apart}
		defer in.Handle.Close()
		if err := in.raise(link.Attrs().Name, []netip.Prefix{netip.MustParsePrefix(guestAddr)}); err != nil {
			return err
		}
		l, err = net.Listen("tcp4", controlPort)
		return err
	})
	return l, err
}

// setOwnMTU changes the MTU of one of the guest's NICs.
func setOwnMTU(nic string, mtu int) error {
	s, err := ownNamespace()
	if err != nil {
		return err
	}
	defer s.Close()
	return s.setMTU(nic, mtu)
}
