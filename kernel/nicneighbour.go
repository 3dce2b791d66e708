package kernel

import (
	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// nicNeighbours lists an interface's permanent neighbours and proxied addresses, which are made by
// hand.
func (s *session) nicNeighbours(index int) ([]heddle.NICNeighbour, error) {
	var all []heddle.NICNeighbour
	for _, proxy := range []bool{false, true} {
		some, err := list(s.rt, func() *nl.NetlinkRequest {
			head := &netlink.Ndmsg{}
			if proxy {
				head.Flags = netlink.NTF_PROXY
			}
			return request(unix.RTM_GETNEIGH, 0, head)
		}, func(b []byte) (heddle.NICNeighbour, bool) {
			e, ok := decodeEntry(b)
			// the kernel makes the multicast and broadcast entries (NUD_NOARP)
			return heddle.NICNeighbour{Addr: e.addr, MAC: e.mac, Proxy: proxy},
				ok && e.index == index && e.addr.IsValid() && (proxy || e.permanent()) && b[0] != unix.AF_BRIDGE
		})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func nicNeighbourRequest(index int, n heddle.NICNeighbour) *nl.NetlinkRequest {
	head := &netlink.Ndmsg{Family: uint8(familyOf(n.Addr)), Index: uint32(index), State: unix.NUD_PERMANENT}
	if n.Proxy {
		head.Flags, head.State = netlink.NTF_PROXY, 0
	}
	r := request(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, head)
	r.AddData(nl.NewRtAttr(netlink.NDA_DST, n.Addr.AsSlice()))
	if mac := n.MAC.Bytes(); mac != nil && !n.Proxy {
		r.AddData(nl.NewRtAttr(netlink.NDA_LLADDR, mac))
	}
	return r
}
