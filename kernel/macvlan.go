package kernel

import (
	"errors"
	"fmt"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// submodes are the MACVLAN_MODE_… and IPVLAN_MODE_… of linux/if_link.h.
var submodes = map[string]uint32{"private": 1, "vepa": 2, "bridge": 4, "passthru": 8, "l2": 0, "l3": 1, "l3s": 2}

// lower is the device below a macvlan or ipvlan device: its index and, seen from a container, the
// number by which the container knows the host's namespace.
type lower struct {
	index, nsid int
	elsewhere   bool
}

// below finds the parent, which is on the host. A device for a container is made from inside the
// container's namespace.
func (a *attempt) below(s *session, l heddle.Link) (lower, error) {
	if l.Parent == "" {
		return lower{}, nil
	}
	index, err := a.host.ifindex(l.Parent)
	if err != nil {
		return lower{}, fmt.Errorf("parent %s: %w", l.Parent, err)
	}
	if !s.pod {
		return lower{index: index}, nil
	}
	nsid, err := s.numberOf(a.host.ns)
	return lower{index: index, nsid: nsid, elsewhere: true}, err
}

// createOnParent makes a container's device on a parent of the host. Kernels before 6.14 make it in the
// parent's namespace and then move it (rtnl_newlink_create in net/core/rtnetlink.c), so they would
// refuse a name that the host has too. So the device is made with a name that nobody has, and gets
// its own name in the container.
func (s *session) createOnParent(l heddle.Link, below lower) error {
	if _, err := s.ifindex(l.Name); err == nil {
		return unix.EEXIST
	}
	born := l
	born.Name = heddle.BirthName(l)
	if left, err := s.link(born.Name); err != nil || left != nil && left.ours() {
		if err == nil {
			err = s.delete(left.index) // left by an agent that was killed here
		}
		if err != nil {
			return err
		}
		delete(s.index, born.Name)
	}
	if err := s.rt.execute(createLink(born, heddle.Link{}, 0, nil, below)); err != nil {
		return err
	}
	index, err := s.ifindex(born.Name)
	if err != nil {
		return err
	}
	delete(s.index, born.Name)
	rename := request(unix.RTM_NEWLINK, 0, indexed(index))
	rename.AddData(textAttr(unix.IFLA_IFNAME, l.Name))
	if err := s.rt.execute(rename); err != nil {
		return errors.Join(err, s.delete(index))
	}
	return nil
}

// The attributes of RTM_GETNSID (linux/net_namespace.h).
const (
	netnsaNSID = 1
	netnsaFD   = 3
)

// numberOf is the number by which this namespace knows another one. The kernel assigns a number if
// there is none yet.
func (s *session) numberOf(other *Netns) (int, error) {
	if id, err := s.readNumber(other); err != nil || id >= 0 {
		return id, err
	}
	r := namespaceRequest(unix.RTM_NEWNSID, other)
	r.AddData(numberAttr(netnsaNSID, 0xffffffff)) // any
	if err := s.rt.execute(r); err != nil && !exists(err) {
		return -1, fmt.Errorf("number the host's namespace: %w", err)
	}
	return s.readNumber(other)
}

func (s *session) readNumber(other *Netns) (int, error) {
	id := int32(-1)
	err := s.rt.get(namespaceRequest(unix.RTM_GETNSID, other), func(_ uint16, payload []byte) {
		if len(payload) >= 4 {
			id = int32(number(attributes(payload[4:]).get(netnsaNSID)))
		}
	})
	return int(id), err
}

// namespaceRequest is a request that begins with a struct rtgenmsg, padded to four bytes.
func namespaceRequest(kind int, other *Netns) *nl.NetlinkRequest {
	r := request(kind, 0, &nl.RtGenMsg{})
	r.AddData(numberAttr(netnsaFD, uint32(other.fd)))
	return r
}

// addSubmode adds the sub-mode of a device to its settings.
func addSubmode(data *nl.RtAttr, kind string, mode uint32) {
	if kind == "ipvlan" {
		data.AddRtAttr(nl.IFLA_IPVLAN_MODE, nl.Uint16Attr(uint16(mode)))
		return
	}
	data.AddRtAttr(nl.IFLA_MACVLAN_MODE, nl.Uint32Attr(mode))
}

func changeSubmode(index int, kind string, mode uint32) *nl.NetlinkRequest {
	r := request(unix.RTM_NEWLINK, 0, indexed(index))
	info, data := linkInfo(kind)
	addSubmode(data, kind, mode)
	r.AddData(info)
	return r
}
