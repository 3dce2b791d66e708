package kernel

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// linkNames are the names of the namespace's interfaces, in the kernel's order, from proc_pid_net(5): two lines of titles,
// then "name: counters". A listing by rtnetlink costs far more: for each veth the kernel looks among all
// namespaces for that of the far end (peernet2id), so with a container behind each it takes the square of their number.
func (n *Netns) linkNames() (names []string, err error) {
	var text []byte
	err = n.Do(func() (err error) {
		text, err = os.ReadFile("/proc/thread-self/net/dev")
		return err
	})
	for line := range strings.Lines(string(text)) {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			names = append(names, name)
		}
	}
	return names, err
}

// linksButPorts reads the interfaces that are no endpoint's port, of which there may be very many. What was removed
// meanwhile is left out. If most interfaces are no ports, a listing of all costs less.
func (s *session) linksButPorts() (all []linkState, err error) {
	names, err := s.ns.linkNames()
	if err != nil {
		return nil, err
	}
	count := len(names)
	names = slices.DeleteFunc(names, s.isPort)
	if 2*len(names) > count {
		all, err = s.links()
		return slices.DeleteFunc(all, func(l linkState) bool { return s.isPort(l.name) }), err
	}
	for _, name := range names {
		l, err := s.link(name)
		if err != nil {
			return nil, err
		}
		if l != nil {
			all = append(all, *l)
		}
	}
	return all, nil
}

// isPort reports whether an interface is an endpoint's port, by its name and driver. Both questions cost the same with any
// number of namespaces. The name alone proves nothing: the kernel returns a NIC from a container under the name that the
// container gave it.
func (s *session) isPort(name string) bool {
	is, err := s.hasPort(name)
	return is && err == nil
}

// hasPort is isPort, or why that cannot be told.
func (s *session) hasPort(name string) (bool, error) {
	if !heddle.IsPortName(name) {
		return false, nil
	}
	about, err := unix.IoctlGetEthtoolDrvinfo(s.rt.fd, name)
	switch err {
	case nil:
		driver := unix.ByteSliceToString(about.Driver[:])
		return driver == "veth" || driver == "tun", nil
	case unix.ENODEV, unix.EOPNOTSUPP:
		return false, nil
	default:
		return false, refused("read the driver of interface", name, err)
	}
}

// HasPort reports whether the host has a port of that name, whichever endpoint's it is.
func (k *Kernel) HasPort(name string) (bool, error) { return k.hostSession().hasPort(name) }
