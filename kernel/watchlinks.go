package kernel

import (
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
)

// ourLinks knows which links are ours by their index: what is told of an address or a
// neighbour names no other. On a busy LAN the kernel forgets neighbours all the time.
type ourLinks struct{ index map[int]bool }

// learn takes in the links that are there, and no others.
func (o *ourLinks) learn(k *Kernel) error {
	all, err := k.listing().links()
	clear(o.index)
	for _, l := range all {
		o.index[l.index] = prefixed(l.name)
	}
	return err
}

// concerns tells of rtnetlink messages that may be about an object of ours. Plans put
// addresses and neighbours on links of ours only. Neighbours come and go by
// themselves, except the permanent and static; of one that was removed the kernel does
// not say what it was. A setting that was changed comes alone with the interface's
// index; of a new interface all come.
func (o *ourLinks) concerns(m message) bool {
	switch m.Header.Type {
	case unix.RTM_NEWLINK, unix.RTM_DELLINK:
		return o.link(m)
	case unix.RTM_DELADDR:
		return len(m.Data) >= unix.SizeofIfAddrmsg && o.index[int(nl.DeserializeIfAddrmsg(m.Data).Index)]
	case unix.RTM_NEWNETCONF:
		return len(after(sizeofNetconfmsg, m.Data)) <= 2
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

// link keeps up with a link that came, went, or got another name. One that was ours
// and is renamed concerns us, too.
func (o *ourLinks) link(m message) bool {
	if len(m.Data) < unix.SizeofIfInfomsg {
		return false
	}
	head := nl.DeserializeIfInfomsg(m.Data)
	index := int(head.Index)
	was, is := o.index[index], prefixed(text(after(unix.SizeofIfInfomsg, m.Data)[unix.IFLA_IFNAME]))
	// of a port that has left its bridge the kernel says RTM_DELLINK, too
	gone := m.Header.Type == unix.RTM_DELLINK && head.Family != unix.AF_BRIDGE
	if is && !gone {
		o.index[index] = true
	} else {
		delete(o.index, index)
	}
	return was || is
}
