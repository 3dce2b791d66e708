package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Snapshot describes an interface of the host that may be given to a container, with all that it
// loses by the move. It refuses an interface that cannot be moved, or cannot be restored.
func (k *Kernel) Snapshot(name string) (heddle.NIC, error) {
	s := k.listing()
	l, err := s.link(name)
	if err != nil {
		return heddle.NIC{}, refused("read", "nic/"+name, err)
	}
	if l == nil {
		return heddle.NIC{}, heddle.Errorf(heddle.NoParent, "give away NIC", name, "the host has no such interface", "name one that 'ip link' lists")
	}
	if err := s.checkMovable(*l); err != nil {
		return heddle.NIC{}, heddle.Wrap(heddle.NICUnfit, "give away NIC", name, err, "name another one")
	}
	for range snapshots {
		n := heddle.NIC{Name: l.name, MAC: l.mac}
		n.Was, err = s.nicState(*l)
		if err == nil {
			n.Was.TCX, err = s.tcx(l.index)
		}
		if err != nil {
			return n, heddle.Wrap(heddle.NICUnfit, "describe NIC", name, err, "name another NIC: what cannot be described cannot be put back")
		}
		var still bool
		if n.Was.FarMAC, still, err = k.farMAC(s, *l); err != nil {
			return n, refused("read", "nic/"+name, err)
		}
		if still {
			return n, nil
		}
		if l, err = s.link(name); err != nil || l == nil {
			return n, refused("read", "nic/"+name, cmp.Or(err, fmt.Errorf("interface %s is gone", name)))
		}
	}
	return heddle.NIC{}, heddle.Errorf(heddle.NICUnfit, "describe NIC", name, "the other end of its pair comes and goes", "try again")
}

// snapshots is how often a NIC is described again because its far end has moved meanwhile. The far
// end may be a NIC that another container gets or returns.
const snapshots = 10

// nicState reads the whole state of an interface.
func (s *session) nicState(l linkState) (heddle.NICState, error) {
	w := heddle.NICState{Taken: time.Now().UTC(), Index: l.index, Kind: l.kind, MTU: l.mtu, Up: l.up, Group: l.group, Alias: l.alias}
	l.identity(&w)
	var errs [5]error
	errs[0] = s.nicFlags(l.index, &w)
	w.Addrs, errs[1] = s.nicAddresses(l.index)
	w.Routes, errs[2] = s.nicRoutes(l.index)
	w.Neighbours, errs[3] = s.nicNeighbours(l.index)
	w.Sysctls, errs[4] = s.nicSysctls(l.name)
	return w, errors.Join(errs[:]...)
}

// checkMovable says why an interface cannot be given away.
func (s *session) checkMovable(l linkState) error {
	switch l.kind {
	case "bridge", "bond", "team", "vrf":
		return fmt.Errorf("it is a %s, not a NIC", l.kind)
	}
	if (upper{linkState: l}).onLAN() {
		return fmt.Errorf("it is a %s device, and who has it can make others on the same LAN: give a container an endpoint of mode macvlan or ipvlan, or the NIC below", l.kind)
	}
	was, holder, marked := heddle.ParseNICAlias(l.alias)
	switch {
	case l.ours():
		return errors.New("it is one of heddle's own")
	case marked && holder != "":
		return fmt.Errorf("it belongs to endpoint %s, and is on its way", holder)
	case marked:
		return fmt.Errorf("it came back as %s because its name %s was taken; rename it and remove its alias", l.name, was)
	case !unicast(l.mac):
		return errors.New("it has no Ethernet address")
	case l.master != 0:
		return fmt.Errorf("it belongs to another interface (%s)", s.nameOf(l.master))
	}
	if err := s.checkNothingStacked(l.index); err != nil {
		return err
	}
	if err := s.trafficControl(l.index); err != nil {
		return err
	}
	return s.tryMove(l.index)
}

func unicast(mac heddle.MAC) bool {
	_, err := heddle.ParseMAC(string(mac))
	return err == nil
}

// checkNothingStacked refuses an interface that has other interfaces of the host stacked on it
// (VLANs, macvlan).
func (s *session) checkNothingStacked(index int) error {
	all, err := s.uppers(index)
	if len(all) > 0 {
		err = fmt.Errorf("the interface %s stands on it", all[0].name)
	}
	if err != nil {
		return err
	}
	there, err := allNamespaces()
	if err != nil {
		return err
	}
	defer there.close()
	for _, u := range stackedOn(there.stackedInterfaces(s.ns), s.ns, index) {
		err = fmt.Errorf("the interface %s in %s stands on it", u.name, u.ns.path)
	}
	return err
}

// uppers lists the interfaces of the namespace that are stacked on another one. Both ends of a veth
// name each other; an end in another namespace is recognised by the number of that namespace.
func (s *session) uppers(index int) ([]linkState, error) {
	return list(s.rt, linkQuery, func(b []byte) (linkState, bool) {
		l, ok := decodeLink(b)
		return l, ok && l.standsOn(index) && !l.elsewhere
	})
}

// standsOn reports whether the link's lower device has that index, in whichever namespace.
func (l linkState) standsOn(index int) bool {
	return l.peer == index && !l.paired() && (l.elsewhere || l.index != index)
}

// paired reports whether the link's peer is the far end of a pair.
func (l linkState) paired() bool {
	return slices.Contains([]string{"veth", "netkit", "vxcan"}, l.kind)
}

func (s *session) nameOf(index int) string {
	all, _ := s.links()
	for _, l := range all {
		if l.index == index {
			return l.name
		}
	}
	return fmt.Sprintf("#%d", index)
}

// tryMove asks the kernel to move an interface to the namespace where it is. That does nothing. But
// an interface that is bound to its namespace (NETIF_F_NETNS_LOCAL) is refused, since the kernel
// checks that first (net/core/dev.c, __dev_change_net_namespace).
func (s *session) tryMove(index int) error {
	r := request(unix.RTM_NEWLINK, 0, indexed(index))
	r.AddData(numberAttr(unix.IFLA_NET_NS_FD, uint32(s.ns.fd)))
	if err := s.rt.execute(r); err != nil {
		return fmt.Errorf("the kernel binds it to its namespace: %w", err)
	}
	return nil
}

// trafficControl refuses an interface with queueing disciplines that somebody has configured. A
// move drops these with their classes and filters, and no snapshot holds them. The kernel's own
// queueing disciplines have no handle.
func (s *session) trafficControl(index int) error {
	own := ""
	type tcmsg struct {
		index  int
		handle uint32
		kind   string
	}
	all, err := list(s.rt, func() *nl.NetlinkRequest {
		head := &nl.TcMsg{}
		head.Ifindex = int32(index)
		return request(unix.RTM_GETQDISC, 0, head)
	}, func(b []byte) (tcmsg, bool) {
		if len(b) < nl.SizeofTcMsg {
			return tcmsg{}, false
		}
		m := nl.DeserializeTcMsg(b)
		return tcmsg{int(m.Ifindex), m.Handle, text(attributes(b[nl.SizeofTcMsg:]).get(nl.TCA_KIND))}, true
	})
	for _, q := range all {
		if q.index == index && q.handle != 0 {
			own = q.kind
		}
	}
	if err == nil && own != "" {
		err = fmt.Errorf("it has a queueing discipline of its own (%s), which a move would drop ('tc qdisc del dev … root')", own)
	}
	return err
}

// CarriesDefault reports whether the host's best default route of a family
// leads through the interface.
func (k *Kernel) CarriesDefault(name string) (bool, error) {
	index, err := k.listing().ifindex(name)
	if err != nil {
		return false, refused("read", "nic/"+name, err)
	}
	h, err := k.home.handle()
	if err != nil {
		return false, refused("list", "default routes", err)
	}
	defer h.Close()
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		routes, err := defaultRoutes(h, family)
		if err != nil {
			return false, refused("list", "default routes", err)
		}
		if len(routes) == 0 {
			continue
		}
		ups := map[int]*uplink{}
		addUplink(ups, routes[0])
		if ups[index] != nil {
			return true, nil
		}
	}
	return false, nil
}
