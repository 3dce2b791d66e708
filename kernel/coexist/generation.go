package coexist

import (
	"encoding/binary"
	"errors"
	"os"

	"github.com/heddle-network/heddle"

	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// openGeneration opens a socket in ns for generation.
func openGeneration(ns *os.File) (*nl.SocketHandle, error) {
	s, err := nl.GetNetlinkSocketAt(netns.NsHandle(ns.Fd()), netns.None(), unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, err
	}
	return &nl.SocketHandle{Socket: s}, nil
}

// generation returns the generation number of the namespace's nftables ruleset. Every commit
// changes it, whoever makes it. The request takes a few microseconds, while a dump grows with the
// chains of all networks. The nftables package cannot make this request.
func generation(s *nl.SocketHandle) (uint32, error) {
	req := nl.NewNetlinkRequest(unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_GETGEN, 0)
	req.AddData(&nl.Nfgenmsg{Version: unix.NFNETLINK_V0})
	req.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_NETFILTER: s}
	replies, err := req.Execute(unix.NETLINK_NETFILTER, 0)
	if err == nil {
		for _, reply := range replies {
			attrs, perr := nl.ParseRouteAttr(reply[nl.SizeofNfgenmsg:])
			for _, a := range attrs {
				if a.Attr.Type == unix.NFTA_GEN_ID && len(a.Value) == 4 {
					return binary.BigEndian.Uint32(a.Value), nil
				}
			}
			err = errors.Join(err, perr)
		}
		err = errors.Join(err, errors.New("no generation in the reply"))
	}
	return 0, heddle.Wrap(heddle.KernelRefused, "read the generation of", "the nftables ruleset", err, seeRuleset)
}
