package kernel

import (
	"bytes"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// upper is an interface that is stacked on another one, with its namespace and that one's cookie; the
// cookie is 0 if the namespace has ended.
type upper struct {
	linkState
	ns     *Netns
	cookie uint64
}

// onLAN reports whether the interface is a neighbour on the LAN of its lower interface.
func (u upper) onLAN() bool {
	return slices.Contains([]string{"macvlan", "macvtap", "ipvlan", "ipvtap"}, u.kind)
}

// stackedInterfaces lists all interfaces that are stacked on interfaces of the namespace base, in
// whichever namespace they are. A container cannot change the lower interface of its device: the
// kernel reports its index and its namespace (IFLA_LINK, IFLA_LINK_NETNSID). A namespace that has
// ended meanwhile has no interfaces.
func (all namespaces) stackedInterfaces(base *Netns) []upper {
	var found []upper
	for _, ns := range all {
		s, err := podSession(ns)
		if err != nil {
			continue
		}
		live, err := s.links()
		number := -1
		if err == nil && !ns.Same(base) {
			number, err = s.readNumber(base)
		}
		s.close()
		if err != nil {
			continue
		}
		from := len(found)
		for _, l := range live {
			if l.peer != 0 && !l.paired() && (l.elsewhere && l.nsid == number || !l.elsewhere && ns.Same(base)) {
				found = append(found, upper{linkState: l, ns: ns})
			}
		}
		if from < len(found) {
			cookie, _ := ns.Cookie()
			for i := range found[from:] {
				found[from+i].cookie = cookie
			}
		}
	}
	return found
}

// stackedOn returns the interfaces that are stacked on one interface, directly or indirectly.
func stackedOn(all []upper, base *Netns, index int) []upper {
	var found []upper
	for _, u := range all {
		if u.peer != index {
			continue
		}
		found = append(found, u)
		if u.ns.Same(base) {
			found = append(found, stackedOn(all, base, u.index)...)
		}
	}
	return found
}

// hasMAC reports whether the interface has a MAC address of its own on that LAN.
func (u upper) hasMAC() bool { return u.kind == "macvlan" || u.kind == "macvtap" }

// mayHavePut reports whether a device in another namespace may belong to a container. The namespace
// is the container's own, one that its users made, or one that the container's namespace leads to.
func (all namespaces) mayHavePut(pod, other, home *Netns) bool {
	return pod.Same(other) || pod.ownsUsersOf(other) || all.leads(pod, other, home)
}

// leads reports whether an interface may have been moved from a container's namespace to another
// one, also by way of further namespaces. At a move the kernel assigns one namespace a number in
// the other, for as long as both live (dev_change_net_namespace in net/core/dev.c). The kernel also
// does this for the far end of a veth, and for any device with a part in another namespace
// (IFLA_LINK_NETNSID). So a number alone proves nothing.
func (all namespaces) leads(pod, other, home *Netns) bool {
	reached := []*Netns{pod}
	for i := 0; i < len(reached); i++ {
		s, err := podSession(reached[i])
		if err != nil {
			continue
		}
		for _, next := range all {
			if next.Same(home) || slices.ContainsFunc(reached, next.Same) {
				continue
			}
			if number, err := s.readNumber(next); err == nil && number >= 0 {
				reached = append(reached, next)
			}
		}
		s.close()
	}
	return slices.ContainsFunc(reached, other.Same)
}

// leadingTo returns ns and the namespaces that lead to it. Calling leads for each of them would
// cost as many searches.
func (all namespaces) leadingTo(ns, home *Netns) []*Netns {
	reached := []*Netns{ns}
	for i := 0; i < len(reached); i++ {
		for _, from := range all {
			if from.Same(home) || slices.ContainsFunc(reached, from.Same) {
				continue
			}
			s, err := podSession(from)
			if err != nil {
				continue
			}
			if number, err := s.readNumber(reached[i]); err == nil && number >= 0 {
				reached = append(reached, from)
			}
			s.close()
		}
	}
	return reached
}

// ownsUsersOf reports whether the other namespace belongs to the user namespace of this one, or to
// one below (ioctl_ns(2)). All user namespaces are below the host's own, so for the host the answer
// says nothing.
func (n *Netns) ownsUsersOf(other *Netns) bool {
	own, err := userNamespace(n.fd)
	if err != nil {
		return false
	}
	defer unix.Close(own)
	var mine, hosts unix.Stat_t
	if unix.Fstat(own, &mine) != nil || unix.Stat("/proc/self/ns/user", &hosts) != nil || mine.Ino == hosts.Ino {
		return false
	}
	for at, err := userNamespace(other.fd); err == nil; {
		var st unix.Stat_t
		err = unix.Fstat(at, &st)
		above, errAbove := unix.IoctlRetInt(at, unix.NS_GET_PARENT)
		unix.Close(at)
		if err == nil && st.Ino == mine.Ino {
			if errAbove == nil {
				unix.Close(above)
			}
			return true
		}
		at, err = above, errAbove
	}
	return false
}

func userNamespace(fd int) (int, error) { return unix.IoctlRetInt(fd, unix.NS_GET_USERNS) }

// listenedMACs lists the unicast MAC addresses, besides its own, that an interface listens to. Each
// macvlan device that is up has entered its address there, wherever the device is (macvlan_open in
// drivers/net/macvlan.c; rtnl_fdb_dump in net/core/rtnetlink.c).
func (s *session) listenedMACs(l linkState) ([]heddle.MAC, error) {
	return list(s.rt, func() *nl.NetlinkRequest {
		return request(unix.RTM_GETNEIGH, 0, &netlink.Ndmsg{Family: unix.AF_BRIDGE, Index: uint32(l.index)})
	}, func(b []byte) (heddle.MAC, bool) {
		mac := listenedMAC(b, l.index)
		return mac, mac != "" && mac != l.mac
	})
}

// listenedMAC returns the unicast MAC address of an entry of the device's own; "" if the entry is another one.
// It reads no more than it needs: a parent has an entry for each of thousands of containers.
func listenedMAC(b []byte, index int) heddle.MAC {
	if len(b) < sizeofNdmsg || b[10]&netlink.NTF_SELF == 0 || int(number(b[4:])) != index {
		return ""
	}
	for b = b[sizeofNdmsg:]; len(b) >= unix.SizeofRtAttr; {
		size := int(nl.NativeEndian().Uint16(b))
		if size < unix.SizeofRtAttr || size > len(b) {
			return ""
		}
		value := net.HardwareAddr(b[unix.SizeofRtAttr:size])
		if nl.NativeEndian().Uint16(b[2:]) == netlink.NDA_LLADDR {
			if len(value) != 6 || value[0]&1 != 0 || bytes.Equal(value, make([]byte, 6)) {
				return ""
			}
			return heddle.MAC(value.String())
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return ""
}

// addSockets adds the namespaces that are kept alive only by a socket (SIOCGSKNS of
// linux/sockios.h). This takes long on a host with many connections.
func (all namespaces) addSockets() {
	for _, p := range processes() {
		for _, name := range entries(p + "/fd") {
			if to, err := os.Readlink(p + "/fd/" + name); err != nil || !strings.HasPrefix(to, "socket:") {
				continue
			}
			pid, _ := strconv.Atoi(strings.TrimPrefix(p, "/proc/"))
			number, _ := strconv.Atoi(name)
			if n := netnsOfSocket(pid, number); n != nil {
				all.add(n)
			}
		}
	}
}

// netnsOfSocket opens the namespace of a process's socket; nil if that is not possible.
func netnsOfSocket(pid, number int) *Netns {
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(process)
	socket, err := unix.PidfdGetfd(process, number, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(socket)
	fd, err := unix.IoctlRetInt(socket, unix.SIOCGSKNS)
	if err != nil {
		return nil
	}
	n := &Netns{fd: fd, path: "a socket of process " + strconv.Itoa(pid)}
	if n.verify() != nil {
		n.Close()
		return nil
	}
	return n
}
