package kernel

import (
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
)

// ourLinks holds the indexes of our links. A message about an address or a neighbour names its link
// only by index. On a busy LAN the kernel deletes neighbours all the time.
type ourLinks struct{ index map[int]bool }

// learn reads the links that exist, and forgets all others.
func (o *ourLinks) learn(k *Kernel) error {
	clear(o.index)
	names, err := k.home.linkNames()
	s := k.listing()
	for _, name := range names {
		if !prefixed(name) {
			continue
		}
		if index, gone := s.ifindex(name); gone == nil {
			o.index[index] = true
		}
	}
	return err
}

// concerns reports rtnetlink messages that may be about an object of ours. Plans put addresses and
// neighbours only on our links. Neighbours come and go by themselves, except permanent and static
// ones; the message about a removed neighbour does not say what it was. A changed setting comes
// alone with the index of the interface; for a new interface all settings come.
func (o *ourLinks) concerns(m message) bool {
	switch m.Header.Type {
	case unix.RTM_NEWLINK, unix.RTM_DELLINK:
		return o.link(m)
	case unix.RTM_DELADDR:
		return len(m.Data) >= unix.SizeofIfAddrmsg && o.index[int(nl.DeserializeIfAddrmsg(m.Data).Index)]
	case unix.RTM_DELQDISC, unix.RTM_DELTFILTER:
		return len(m.Data) >= nl.SizeofTcMsg && o.index[int(nl.DeserializeTcMsg(m.Data).Ifindex)]
	case unix.RTM_NEWQDISC: // a limit that is changed, or replaced
		return len(m.Data) >= nl.SizeofTcMsg && nl.DeserializeTcMsg(m.Data).Parent == netlink.HANDLE_ROOT && o.index[int(nl.DeserializeTcMsg(m.Data).Ifindex)]
	case unix.RTM_NEWNETCONF:
		return after(sizeofNetconfmsg, m.Data).count() <= 2
	case unix.RTM_NEWNEIGH, unix.RTM_DELNEIGH:
		e, ok := decodeEntry(m.Data)
		return ok && o.index[e.index] && (e.permanent() || e.static() || m.Header.Type == unix.RTM_DELNEIGH)
	case unix.RTM_NEWROUTE, unix.RTM_DELROUTE:
		return len(m.Data) >= unix.SizeofRtMsg && nl.DeserializeRtMsg(m.Data).Protocol == heddle.RouteProtocol
	case unix.RTM_NEWRULE, unix.RTM_DELRULE:
		_, ours := decodeRule(m.Data)
		return ours
	}
	return false
}

// link updates the index for a link that came, went, or got another name. A link of ours that is
// renamed concerns us, too.
func (o *ourLinks) link(m message) bool {
	if len(m.Data) < unix.SizeofIfInfomsg {
		return false
	}
	head := nl.DeserializeIfInfomsg(m.Data)
	index := int(head.Index)
	was, is := o.index[index], prefixed(text(after(unix.SizeofIfInfomsg, m.Data).get(unix.IFLA_IFNAME)))
	// when a port leaves its bridge, the kernel sends RTM_DELLINK, too
	gone := m.Header.Type == unix.RTM_DELLINK && head.Family != unix.AF_BRIDGE
	if is && !gone {
		o.index[index] = true
	} else {
		delete(o.index, index)
	}
	return was || is
}
