package kernel

import (
	"context"
	"errors"
	"os"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Groups of rtnetlink that report changes to the objects of plans. The netconf groups report
// changes of settings, as far as the kernel does.
var watchedGroups = []int{
	unix.RTNLGRP_LINK, unix.RTNLGRP_NEIGH,
	unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR,
	unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV6_ROUTE,
	unix.RTNLGRP_IPV4_RULE, unix.RTNLGRP_IPV6_RULE,
	unix.RTNLGRP_IPV4_NETCONF, unix.RTNLGRP_IPV6_NETCONF,
	unix.RTNLGRP_TC,
}

const (
	// nftablesGroup is NFNLGRP_NFTABLES of linux/netfilter/nfnetlink.h.
	nftablesGroup = 7
	// sizeofNetconfmsg is the size of the address family with its padding (linux/netconf.h).
	sizeofNetconfmsg = 4
	// watchBuffer holds a burst of several thousand messages.
	watchBuffer = 4 << 20
)

// Change says how certain it is that somebody else changed something of ours.
type Change uint8

const (
	// Faint: the kernel names no author. The change may be our own.
	Faint Change = 1 + iota
	// Firm: somebody else requested the change.
	Firm
	// Tables: somebody else changed our firewall tables, or it is not known what was changed.
	Tables
	// Policies: somebody changed IPsec policies, which the agent itself never does; or messages
	// were lost.
	Policies
)

// Watch signals when something of ours may have changed. It looks at the header of each message and
// little more. Messages that our own sockets caused are left out, as far as the kernel names the
// author (nlmsg_pid; for links since Linux 6.2). Signals coalesce to the greatest. A lost message
// (ENOBUFS) may have been any message. Watch ends with the context; the channel is not closed.
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
		if err == nil && i == 0 { // the socket receives later changes
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

// ports are the port numbers of our sockets at the kernel.
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

// subject is the messages that one socket receives.
type subject struct {
	protocol int
	groups   []int
	concerns func(message) bool
	// firm is the Change to report for a change by somebody else.
	firm Change
	// relearn is called when messages were lost; nil if the subject keeps no state.
	relearn func() error
}

// watcher reports what its sockets receive.
type watcher struct {
	own     map[uint32]bool
	changed chan Change
}

// subscribe opens a socket in our namespace that receives the messages of the groups. The socket is
// a file, so it can be closed while a reader waits.
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

// judge returns the greatest change among the messages; 0 if there is none.
func (w *watcher) judge(b []byte, s subject) Change {
	msgs, err := split(b)
	if err != nil {
		return Policies
	}
	var greatest Change
	for _, m := range msgs {
		author := m.Header.Pid
		// concerns must see every message: it learns which links there are
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

// signal replaces a lesser change that the receiver has not taken yet. A greater one that is
// waiting stays.
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

// concernsTables reports nftables messages about our tables. The first attribute of each such
// message is the name of the table.
func concernsTables(m message) bool {
	if m.Header.Type>>8 != unix.NFNL_SUBSYS_NFTABLES || m.Header.Type&0xff == unix.NFT_MSG_NEWGEN {
		return false
	}
	return text(after(nl.SizeofNfgenmsg, m.Data).get(unix.NFTA_TABLE_NAME)) == heddle.Mark
}
