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
	// Tables: somebody else changed our tables of the firewall, or it is not known what
	// was changed.
	Tables
	// Policies: somebody changed what IPsec looks after, which is never an echo of our
	// own work; or messages were lost.
	Policies
)

// Watch signals when something of ours may have changed: it looks at each
// message's header and little more. What our own sockets asked for is left out,
// as far as the kernel names the author (nlmsg_pid; for links since Linux 6.2).
// Signals coalesce to the greatest; a lost message (ENOBUFS) may have been any. It ends
// with the context; the channel is not closed.
func (k *Kernel) Watch(ctx context.Context) (<-chan Change, error) {
	own, err := k.ports()
	if err != nil {
		return nil, heddle.Wrap(heddle.KernelRefused, "watch", "netlink", err, "give the agent CAP_NET_ADMIN")
	}
	w := &watcher{own: own, changed: make(chan Change, 1)}
	ours := &ourLinks{index: map[int]bool{}}
	subjects := []subject{
		{unix.NETLINK_ROUTE, watchedGroups, ours.concerns, Firm, func() error { return ours.learn(k) }},
		{unix.NETLINK_NETFILTER, []int{nftablesGroup}, concernsTables, Tables, nil},
		{unix.NETLINK_XFRM, []int{xfrmGroupPolicy}, concernsPolicies, Policies, nil},
	}
	for i, s := range subjects {
		f, err := k.subscribe(s.protocol, s.groups)
		if s.protocol == unix.NETLINK_XFRM && errors.Is(err, unix.EPROTONOSUPPORT) {
			continue // a kernel without IPsec
		}
		if err == nil && i == 0 { // of those that come from now on it hears
			err = ours.learn(k)
		}
		if err != nil {
			return nil, heddle.Wrap(heddle.KernelRefused, "watch", "netlink", err, "give the agent CAP_NET_ADMIN")
		}
		context.AfterFunc(ctx, func() { f.Close() })
		go w.pump(f, s)
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

// subject is what one socket hears.
type subject struct {
	protocol int
	groups   []int
	concerns func(message) bool
	// firm is what somebody else's change is.
	firm Change
	// relearn is called when messages were lost; nil if nothing is kept of them.
	relearn func() error
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

func (w *watcher) pump(f *os.File, s subject) {
	defer f.Close()
	buf := make([]byte, receiveSize)
	for {
		n, err := f.Read(buf)
		switch {
		case errors.Is(err, unix.ENOBUFS):
			if s.relearn != nil {
				_ = s.relearn()
			}
			w.signal(Policies)
		case err != nil:
			return
		default:
			w.signal(w.judge(buf[:n], s))
		}
	}
}

// judge returns the greatest change among the messages, 0 for none.
func (w *watcher) judge(b []byte, s subject) Change {
	msgs, err := split(b)
	if err != nil {
		return Policies
	}
	var greatest Change
	for _, m := range msgs {
		author := m.Header.Pid
		// asked of all: it learns which links there are
		if !s.concerns(m) || w.own[author] {
			continue
		}
		if author == 0 {
			greatest = max(greatest, Faint)
		} else {
			greatest = s.firm
		}
	}
	return greatest
}

// signal replaces a lesser change that the receiver has not taken yet; otherwise what
// is there says enough.
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
		case before := <-w.changed:
			c = max(c, before)
		default:
		}
	}
}

// concernsTables tells of nftables messages about our tables. In all of them
// the first attribute is the table's name.
func concernsTables(m message) bool {
	if m.Header.Type>>8 != unix.NFNL_SUBSYS_NFTABLES || m.Header.Type&0xff == unix.NFT_MSG_NEWGEN {
		return false
	}
	return text(after(nl.SizeofNfgenmsg, m.Data)[unix.NFTA_TABLE_NAME]) == heddle.Mark
}
