package kernel

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf/link"
	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// What netlink reports of a link and its administrator may change, besides the fields of linkState.
// All of it is read when a NIC is given away, compared when it returns, and set where it differs.

// otherFlags are those of netdevice(7) that have no field of their own.
const otherFlags = unix.IFF_DEBUG | unix.IFF_NOTRAILERS | unix.IFF_DYNAMIC | unix.IFF_PORTSEL | unix.IFF_AUTOMEDIA

// sizes are the limits of a segment and of an aggregate, by attribute. A limit that this kernel
// does not have is neither read nor set.
var sizes = []uint16{unix.IFLA_GSO_MAX_SIZE, unix.IFLA_GSO_MAX_SEGS, unix.IFLA_GRO_MAX_SIZE, unix.IFLA_GSO_IPV4_MAX_SIZE, unix.IFLA_GRO_IPV4_MAX_SIZE}

// The modes in which an XDP program is attached: the attribute of the program's ID, and the flag
// (linux/if_link.h).
var xdpModes = []struct {
	number uint16
	flag   uint32
}{{5, 1 << 2}, {6, 1 << 1}, {7, 1 << 3}} // IFLA_XDP_DRV_PROG_ID, _SKB_, _HW_; XDP_FLAGS_DRV_MODE, _SKB_, _HW_

const xdpFlags = 3 // IFLA_XDP_FLAGS

// nicFlags reads the settings by the link's index, because a container may change the link's name
// at any time.
func (s *session) nicFlags(index int, w *heddle.NICState) error {
	req := request(unix.RTM_GETLINK, 0, indexed(index))
	req.AddData(numberAttr(unix.IFLA_EXT_MASK, skipStats))
	return s.rt.get(req, func(_ uint16, b []byte) {
		if len(b) < unix.SizeofIfInfomsg {
			return
		}
		flags := nl.DeserializeIfInfomsg(b).Flags
		w.Promisc, w.AllMulti, w.NoARP = flags&unix.IFF_PROMISC != 0, flags&unix.IFF_ALLMULTI != 0, flags&unix.IFF_NOARP != 0
		w.NoMulticast, w.Flags = flags&unix.IFF_MULTICAST == 0, flags&otherFlags
		at := after(unix.SizeofIfInfomsg, b)
		w.QueueLen, w.LinkMode = int(number(at.get(unix.IFLA_TXQLEN))), octet(at.get(unix.IFLA_LINKMODE))
		w.ProtoDown = octet(at.get(unix.IFLA_PROTO_DOWN)) != 0
		xdp := attributes(at.get(unix.IFLA_XDP))
		w.XDP, w.XDPs = number(xdp.get(nl.IFLA_XDP_PROG_ID)), nil
		for _, m := range xdpModes {
			w.XDPs = append(w.XDPs, number(xdp.get(m.number)))
		}
		w.Sizes = nil
		for _, kind := range sizes {
			w.Sizes = append(w.Sizes, number(at.get(kind)))
		}
		w.AltNames = altNames(at.get(unix.IFLA_PROP_LIST))
	})
}

func altNames(b []byte) (all []string) {
	for kind, name := range attributes(b).all() {
		if kind == unix.IFLA_ALT_IFNAME {
			all = append(all, text(name))
		}
	}
	return all
}

// altNamesRequest adds alternative names to a link, or removes them.
func altNamesRequest(kind, flags, index int, names []string) *nl.NetlinkRequest {
	r := request(kind, flags, indexed(index))
	list := nl.NewRtAttr(unix.IFLA_PROP_LIST|unix.NLA_F_NESTED, nil)
	for _, name := range names {
		list.AddRtAttr(unix.IFLA_ALT_IFNAME, nl.ZeroTerminated(name))
	}
	r.AddData(list)
	return r
}

// dropAltNames removes the alternative names that the NIC did not have before. An alternative name
// that another interface of the host has would keep the NIC from moving there.
func (h *nicReturn) dropAltNames(at *session, index int) error {
	var have heddle.NICState
	if err := at.nicFlags(index, &have); err != nil {
		return err
	}
	extra := slices.DeleteFunc(have.AltNames, func(n string) bool { return slices.Contains(h.n.Was.AltNames, n) })
	if len(extra) == 0 || h.n.Was.Sizes == nil { // the record of an older agent does not say which there were
		return nil
	}
	return at.rt.execute(altNamesRequest(unix.RTM_DELLINKPROP, 0, index, extra))
}

// putSettings sets what differs from the earlier state of the NIC.
func (h *nicReturn) putSettings(have heddle.NICState) error {
	w := h.n.Was
	errs := []error{h.dropXDP(have), h.dropTCX()}
	r := request(unix.RTM_NEWLINK, 0, indexed(h.index))
	count := 0
	set := func(a *nl.RtAttr) { r.AddData(a); count++ }
	if have.QueueLen != w.QueueLen {
		set(numberAttr(unix.IFLA_TXQLEN, uint32(w.QueueLen)))
	}
	if have.LinkMode != w.LinkMode {
		set(octetAttr(unix.IFLA_LINKMODE, w.LinkMode))
	}
	if !slices.Equal(have.Sizes, w.Sizes) { // setting one may change another
		for i, size := range w.Sizes {
			if size != 0 {
				set(numberAttr(int(sizes[i]), size))
			}
		}
	}
	if count > 0 {
		errs = append(errs, h.host.rt.execute(r))
	}
	if have.ProtoDown != w.ProtoDown {
		down := request(unix.RTM_NEWLINK, 0, indexed(h.index))
		down.AddData(octetAttr(unix.IFLA_PROTO_DOWN, flag(w.ProtoDown)))
		errs = append(errs, h.host.rt.execute(down))
	}
	errs = append(errs, h.dropAltNames(h.host, h.index))
	if missing := slices.DeleteFunc(slices.Clone(w.AltNames), func(n string) bool { return slices.Contains(have.AltNames, n) }); len(missing) > 0 {
		errs = append(errs, h.host.rt.execute(altNamesRequest(unix.RTM_NEWLINKPROP, unix.NLM_F_CREATE|unix.NLM_F_EXCL, h.index, missing)))
	}
	return errors.Join(errs...)
}

// dropXDP detaches the programs that the container has attached, in each mode.
func (h *nicReturn) dropXDP(have heddle.NICState) error {
	var errs []error
	for i, m := range xdpModes {
		if h.wasThere(have.XDPs[i]) {
			continue
		}
		r := request(unix.RTM_NEWLINK, 0, indexed(h.index))
		xdp := nl.NewRtAttr(unix.IFLA_XDP|unix.NLA_F_NESTED, nil)
		xdp.AddRtAttr(nl.IFLA_XDP_FD, nl.Uint32Attr(0xffffffff))
		xdp.AddRtAttr(xdpFlags, nl.Uint32Attr(m.flag))
		r.AddData(xdp)
		err := h.host.rt.execute(r)
		if errors.Is(err, unix.EBUSY) {
			err = h.detachXDPLinks(i)
		}
		errs = append(errs, err)
	}
	if was := h.n.Was.XDP; was != 0 && have.XDP != was && !slices.Contains(have.XDPs, was) {
		h.reportLost("XDP program (id %d)", was)
	}
	return errors.Join(errs...)
}

// flags restores the flags.
func (h *nicReturn) flags() error {
	w := h.n.Was
	head := indexed(h.index)
	head.Change, head.Flags = otherFlags, w.Flags&otherFlags
	for _, f := range []struct {
		on  bool
		bit uint32
	}{{w.Promisc, unix.IFF_PROMISC}, {w.AllMulti, unix.IFF_ALLMULTI}, {w.NoARP, unix.IFF_NOARP}, {!w.NoMulticast, unix.IFF_MULTICAST}} {
		head.Change |= f.bit
		if f.on {
			head.Flags |= f.bit
		}
	}
	return h.host.rt.execute(request(unix.RTM_NEWLINK, 0, head))
}

// wasThere reports whether a program was on the NIC when it was given away; 0 means no program.
func (h *nicReturn) wasThere(program uint32) bool {
	return program == 0 || program == h.n.Was.XDP || slices.Contains(h.n.Was.XDPs, program)
}

// mostXDPLinks is how many BPF links are detached at most. The owner of a link can put another
// program into it during the search.
const mostXDPLinks = 64

// detachXDPLinks detaches a program that a BPF link holds, in one mode (an index of xdpModes);
// netlink cannot detach such a program. A link reports the index of its interface, but not the
// namespace. So every link with that program and index is detached, until none of the container's
// programs is on the NIC.
func (h *nicReturn) detachXDPLinks(mode int) error {
	var now heddle.NICState
	for range mostXDPLinks {
		if err := h.host.nicFlags(h.index, &now); err != nil || h.wasThere(now.XDPs[mode]) {
			return err
		}
		if err := detachXDPLink(now.XDPs[mode], h.index); err != nil {
			return err
		}
	}
	return fmt.Errorf("its XDP program (id %d) is there still", now.XDPs[mode])
}

// detachXDPLink detaches a BPF link that attaches the program to an interface with that index. A
// detached link has no index any more.
func detachXDPLink(program uint32, index int) error {
	it := new(link.Iterator)
	defer it.Close()
	for it.Next() {
		info, err := it.Link.Info()
		if err == nil && info.Type == link.XDPType && uint32(info.Program) == program && info.XDP().Ifindex == uint32(index) {
			return it.Link.Detach()
		}
	}
	return it.Err()
}
