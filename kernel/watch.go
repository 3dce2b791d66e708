package kernel

import (
	"context"
	"errors"
	"os"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Groups of rtnetlink that tell of changes to what plans are made of; settings
// are told of by the netconf groups, as far as the kernel does.
var watchedGroups = []int{
	unix.RTNLGRP_LINK, unix.RTNLGRP_NEIGH,
	unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR,
	unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV6_ROUTE,
	unix.RTNLGRP_IPV4_RULE, unix.RTNLGRP_IPV6_RULE,
	unix.RTNLGRP_IPV4_NETCONF, unix.RTNLGRP_IPV6_NETCONF,
}

const (
	// nftablesGroup is NFNLGRP_NFTABLES of linux/netfilter/nfnetlink.h.
	nftablesGroup = 7
	// sizeofNetconfmsg is a family and padding (linux/netconf.h).
	sizeofNetconfmsg = 4
	// watchBuffer takes a burst of some thousand messages.
	watchBuffer = 4 << 20
)

// Change says how sure it is that somebody else changed something of ours.
type Change uint8

const (
	// Faint: the kernel names no author; it may be an echo of our own work.
	Faint Change = 1 + iota
	// Firm: somebody else asked for it.
	Firm
)

// Watch signals when something of ours may have changed: it looks at each
// message's header and little more. What our own sockets asked for is left out,
// as far as the kernel names the author (nlmsg_pid; for links since Linux 6.2).
// Signals coalesce; a lost message (ENOBUFS) is a firm one. It ends with the
// context; the channel is not closed.
func (k *Kernel) Watch(ctx context.Context) (<-chan Change, error) {
	own, err := k.ports()
	if err != nil {
		return nil, heddle.Wrap(heddle.KernelRefused, "watch", "netlink", err, "the agent needs CAP_NET_ADMIN")
	}
	w := &watcher{own: own, changed: make(chan Change, 1)}
	for _, s := range []struct {
		protocol int
		groups   []int
		concerns func(message) bool
	}{
		{unix.NETLINK_ROUTE, watchedGroups, concernsLinks},
		{unix.NETLINK_NETFILTER, []int{nftablesGroup}, concernsTables},
		{unix.NETLINK_XFRM, []int{xfrmGroupPolicy}, concernsPolicies},
	} {
		f, err := k.subscribe(s.protocol, s.groups)
		if s.protocol == unix.NETLINK_XFRM && errors.Is(err, unix.EPROTONOSUPPORT) {
			continue // a kernel without IPsec
		}
		if err != nil {
			return nil, heddle.Wrap(heddle.KernelRefused, "watch", "netlink", err, "the agent needs CAP_NET_ADMIN")
		}
		context.AfterFunc(ctx, func() { f.Close() })
		go w.pump(f, s.concerns)
	}
	return w.changed, nil
}

// ports are the numbers by which the kernel knows our sockets.
func (k *Kernel) ports() (map[uint32]bool, error) {
	own := map[uint32]bool{}
	for _, c := range append([]*conn{k.rt, k.nft}, k.deleters...) {
		a, err := unix.Getsockname(c.fd)
		if err != nil {
			return nil, err
		}
		own[a.(*unix.SockaddrNetlink).Pid] = true
	}
	return own, nil
}

// watcher passes on what its sockets hear.
type watcher struct {
	own     map[uint32]bool
	changed chan Change
}

// subscribe opens a socket in our namespace that hears the groups. As a file
// it can be closed under a waiting reader.
func (k *Kernel) subscribe(protocol int, groups []int) (f *os.File, err error) {
	err = k.home.Do(func() error {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
		if err != nil {
			return err
		}
		f = os.NewFile(uintptr(fd), "netlink")
		err = errors.Join(unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}),
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, watchBuffer))
		for _, g := range groups {
			err = errors.Join(err, unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, g))
		}
		return err
	})
	if err != nil && f != nil {
		f.Close()
	}
	return f, err
}

func (w *watcher) pump(f *os.File, concerns func(message) bool) {
	defer f.Close()
	buf := make([]byte, receiveSize)
	for {
		n, err := f.Read(buf)
		switch {
		case errors.Is(err, unix.ENOBUFS):
			w.signal(Firm)
		case err != nil:
			return
		default:
			w.signal(w.judge(buf[:n], concerns))
		}
	}
}

// judge returns the firmest change among the messages, 0 for none.
func (w *watcher) judge(b []byte, concerns func(message) bool) Change {
	msgs, err := split(b)
	if err != nil {
		return Firm
	}
	var firmest Change
	for _, m := range msgs {
		author := m.Header.Pid
		if w.own[author] || !concerns(m) {
			continue
		}
		if author != 0 {
			return Firm
		}
		firmest = Faint
	}
	return firmest
}

// signal replaces a faint change that the receiver has not taken yet by a firm
// one; otherwise what is there says enough.
func (w *watcher) signal(c Change) {
	for c != 0 {
		select {
		case w.changed <- c:
			return
		default:
		}
		if c == Faint {
			return
		}
		select {
		case <-w.changed:
		default:
		}
	}
}

// concernsLinks tells of rtnetlink messages that may be about an object of
// ours. Addresses do not say whose interface they are on, so that all count;
// neighbours come and go by themselves, except the permanent and static. A
// setting that was changed comes alone with the interface's index; of a new
// interface all come.
func concernsLinks(m message) bool {
	switch m.Header.Type {
	case unix.RTM_NEWLINK, unix.RTM_DELLINK:
		return prefixed(text(after(unix.SizeofIfInfomsg, m.Data)[unix.IFLA_IFNAME]))
	case unix.RTM_DELADDR:
		return true
	case unix.RTM_NEWNETCONF:
		return len(after(sizeofNetconfmsg, m.Data)) <= 2
	case unix.RTM_NEWNEIGH, unix.RTM_DELNEIGH:
		e, ok := decodeEntry(m.Data)
		return ok && (e.permanent() || e.static() || m.Header.Type == unix.RTM_DELNEIGH)
	case unix.RTM_NEWROUTE, unix.RTM_DELROUTE:
		return len(m.Data) >= unix.SizeofRtMsg && nl.DeserializeRtMsg(m.Data).Protocol == heddle.RouteProtocol
	case unix.RTM_NEWRULE, unix.RTM_DELRULE:
		_, ours := decodeRule(m.Data)
		return ours
	}
	return false
}

// concernsTables tells of nftables messages about our tables. In all of them
// the first attribute is the table's name.
func concernsTables(m message) bool {
	if m.Header.Type>>8 != unix.NFNL_SUBSYS_NFTABLES || m.Header.Type&0xff == unix.NFT_MSG_NEWGEN {
		return false
	}
	return text(after(nl.SizeofNfgenmsg, m.Data)[unix.NFTA_TABLE_NAME]) == heddle.Mark
}
