package kernel

import (
	"fmt"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// submodes are the MACVLAN_MODE_… and IPVLAN_MODE_… of linux/if_link.h.
var submodes = map[string]uint32{"private": 1, "vepa": 2, "bridge": 4, "passthru": 8, "l2": 0, "l3": 1, "l3s": 2}

// lower is the device that a macvlan or ipvlan device stands on: its index and, seen from
// a container, the number by which the container knows the host's namespace.
type lower struct {
	index, nsid int
	elsewhere   bool
}

// below finds the parent, which is on the host. A device for a container is made
// from inside: made from the host, older kernels would refuse a name that an
// interface of the host has too.
func (a *attempt) below(s *site, l heddle.Link) (lower, error) {
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

// The attributes of RTM_GETNSID (linux/net_namespace.h).
const (
	netnsaNSID = 1
	netnsaFD   = 3
)

// numberOf is the number by which this namespace knows another one; it is given
// one if it has none yet.
func (s *site) numberOf(other *Netns) (int, error) {
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

func (s *site) readNumber(other *Netns) (int, error) {
	id := int32(-1)
	err := s.rt.get(namespaceRequest(unix.RTM_GETNSID, other), func(_ uint16, payload []byte) {
		if len(payload) >= 4 {
			id = int32(number(attributes(payload[4:])[netnsaNSID]))
		}
	})
	return int(id), err
}

// namespaceRequest is headed by a struct rtgenmsg, padded to four bytes.
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
	info := nl.NewRtAttr(unix.IFLA_LINKINFO|unix.NLA_F_NESTED, nil)
	info.AddRtAttr(nl.IFLA_INFO_KIND, nl.NonZeroTerminated(kind))
	addSubmode(info.AddRtAttr(nl.IFLA_INFO_DATA|unix.NLA_F_NESTED, nil), kind, mode)
	r.AddData(info)
	return r
}
