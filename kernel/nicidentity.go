package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// A container may give its interfaces any name, index, MAC address and alias. It cannot change what
// the kernel reports about the device that a NIC depends on, wherever the NIC is:
//
//   - hardware: the device that its driver found (IFLA_PARENT_DEV_NAME), with the MAC
//     address that it was made with (IFLA_PERM_ADDRESS) and, where the device has several
//     ports, the port's name (IFLA_PHYS_PORT_NAME);
//   - one end of a pair: the far end, which says where the near end is (IFLA_LINK,
//     IFLA_LINK_NETNSID);
//   - a VLAN device: its lower device, which has one VLAN device with that tag.
//
// Other devices (dummy, tap) depend on nothing. They are recognised by alias and index, in the
// container alone.

// identity reads these attributes.
func (l linkState) identity(w *heddle.NICState) {
	w.Bus, w.Device, w.Permanent, w.Port = l.bus, l.device, l.permanent, l.portName
	w.Peer, w.PeerElsewhere, w.PeerNSID = l.peer, l.elsewhere, l.nsid
	w.VLAN, w.VLANProtocol = l.vlan, l.protocol
}

// found is a NIC with the session of its namespace.
type found struct {
	at   *session
	link linkState
}

// seek finds the NIC; nil if it is gone for good. The error has the code heddle.Quarantined if this
// is not proven.
func (h *nicReturn) seek() (*found, error) {
	w := h.n.Was
	var f *found
	var doubt string
	var err error
	switch pair := (linkState{kind: w.Kind}).paired(); {
	case w.Device != "":
		f, doubt, err = h.search(h.hardware, func(bool) bool { return h.unplugged() }, "it is in no namespace that is found, and its hardware is there")
	case pair && w.Peer != 0:
		f, doubt, err = h.byFarEnd()
	case w.Peer != 0:
		f, doubt, err = h.search(h.sameLower, afterAll, "")
	default:
		f, err = h.byMark()
	}
	if doubt != "" {
		err = h.lost(doubt)
	}
	return f, err
}

// search looks on the host, in the container, and then in all other namespaces; the last time also
// in namespaces that live only by a socket. If the NIC is not found and not known to be gone, why is
// returned as the doubt.
func (h *nicReturn) search(is func(at *session, l linkState) bool, gone func(deep bool) bool, why string) (f *found, doubt string, err error) {
	if f, err := look([]*session{h.host, h.pod}, is); f != nil || err != nil {
		return f, "", err
	}
	for _, deep := range []bool{false, true} {
		others, err := h.others(deep)
		if err != nil {
			return nil, "", h.lost(err.Error())
		}
		if f, err := look(others, is); f != nil || err != nil {
			return f, "", err
		}
		if gone(deep) {
			return nil, "", nil
		}
	}
	return nil, why, nil
}

// afterAll says that a NIC is gone if the deep search did not find it either.
func afterAll(deep bool) bool { return deep }

// look finds the NIC in one of the namespaces.
func look(sites []*session, is func(at *session, l linkState) bool) (*found, error) {
	for _, at := range sites {
		if at == nil {
			continue
		}
		all, err := at.links()
		if err != nil {
			return nil, err
		}
		for _, l := range all {
			if is(at, l) {
				return &found{at, l}, nil
			}
		}
	}
	return nil, nil
}

// others opens the namespaces other than the host's and the container's.
func (h *nicReturn) others(deep bool) ([]*session, error) {
	h.closeOthers()
	all, err := allNamespaces()
	if err != nil {
		return nil, err
	}
	h.all = all
	if deep {
		h.all.addSockets()
	}
	for _, n := range h.all {
		if n.Same(h.host.ns) || h.pod != nil && n.Same(h.pod.ns) {
			continue
		}
		if s, err := podSession(n); err == nil {
			h.sites = append(h.sites, s)
		}
	}
	return h.sites, nil
}

func (h *nicReturn) closeOthers() {
	for _, s := range h.sites {
		s.close()
	}
	h.sites = nil
	if h.all != nil {
		h.all.close()
	}
	h.all = nil
}

func (h *nicReturn) hardware(_ *session, l linkState) bool {
	w := h.n.Was
	return l.device == w.Device && l.bus == w.Bus && l.permanent == w.Permanent && (w.Port == "" || l.portName == w.Port)
}

// unplugged reports whether the NIC's hardware is gone.
func (h *nicReturn) unplugged() bool {
	_, err := os.Stat(filepath.Join("/sys/bus", h.n.Was.Bus, "devices", h.n.Was.Device))
	_, errBus := os.Stat(filepath.Join("/sys/bus", h.n.Was.Bus))
	return errors.Is(err, os.ErrNotExist) && errBus == nil
}

// sameLower reports whether a device has the same lower device as the NIC, and its tag. A device
// can have only one VLAN device per tag (vlan_check_real_dev in net/8021q/vlan.c). A NIC of a kind
// without a tag is recognised by its index or MAC address; on the host, by its mark or its name.
func (h *nicReturn) sameLower(at *session, l linkState) bool {
	w := h.n.Was
	tagged := w.VLANProtocol != 0
	switch {
	case l.kind != w.Kind || l.peer != w.Peer || l.vlan != w.VLAN && tagged || l.protocol != w.VLANProtocol && tagged:
		return false
	case !tagged && l.index != w.Index && l.mac != h.n.MAC:
		return false
	case !at.pod:
		return l.elsewhere == w.PeerElsewhere && l.nsid == w.PeerNSID && (tagged || l.alias == h.n.Alias || l.name == h.n.Name)
	}
	number, err := at.readNumber(h.host.ns)
	return err == nil && l.elsewhere && (w.PeerElsewhere || l.nsid == number)
}

// byMark finds a NIC by attributes that a container can change, too.
func (h *nicReturn) byMark() (*found, error) {
	if l, err := h.host.marked(h.n); l != nil || err != nil {
		return foundAt(h.host, l), err
	}
	if l, err := h.pod.marked(h.n); l != nil || err != nil {
		return foundAt(h.pod, l), err
	}
	if home, err := h.host.home(h.n); err != nil || home {
		return nil, err
	}
	l, err := h.pod.disguised(h.n)
	return foundAt(h.pod, l), err
}

func foundAt(s *session, l *linkState) *found {
	if l == nil {
		return nil
	}
	return &found{s, *l}
}

func (h *nicReturn) lost(why string) error {
	return heddle.Wrap(heddle.Quarantined, "bring back", h.n.Key(), errors.New(why),
		"end the container: until the NIC is back, it and the addresses are given to nobody, and the agent tries again every few seconds")
}

// removeStacked deletes all devices in other namespaces that are stacked on the NIC, which is at
// home. While the NIC was away, only the container could make them. Then removeStacked has the
// kernel prove that nothing is left: the kernel makes no passthru device on a NIC that has another
// macvlan device, and none at all on a NIC that has an ipvlan device, in whichever namespace these
// are (macvlan_common_newlink in drivers/net/macvlan.c). The kernel also refuses if the host itself
// has already made such a device on the NIC, or put it in a bridge or a bond. Then the refusal
// proves nothing, and the proof is left out.
func (h *nicReturn) removeStacked() error {
	used, err := h.strip()
	if err != nil || used {
		return err
	}
	probe := heddle.Link{Name: heddle.BirthName(heddle.Link{Alias: h.n.Alias + h.n.Name}), Kind: "macvlan", SubMode: "passthru", Group: heddle.GroupBase}
	err = h.host.rt.execute(createLink(probe, heddle.Link{}, 0, nil, lower{index: h.index}))
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EBUSY):
		return h.lost(fmt.Sprintf("it is on the host, but a device in a namespace that is not found stands on it (%v)", err))
	case errors.Is(err, unix.EOPNOTSUPP):
		return nil // this kernel has no such devices
	case err != nil:
		return refused("prove that nothing stands on", h.n.Key(), err)
	}
	made, err := h.host.link(probe.Name)
	if err != nil || made == nil {
		return err
	}
	return h.host.delete(made.index)
}

// strip deletes the devices that are stacked on the NIC, which is at home, in all namespaces but
// the host's. The first time it deletes all of them. Later, when the NIC may be in use again, it
// deletes only those that are the container's or may be. It reports whether the host uses the NIC:
// a macvlan or ipvlan device of the user is on it, or it belongs to a bridge or a bond.
func (h *nicReturn) strip() (used bool, err error) {
	home := h.host.ns
	own, err := home.Dup()
	if err != nil {
		return false, err
	}
	all, err := allNamespaces()
	if err != nil {
		own.Close()
		return false, h.lost(err.Error())
	}
	defer all.close()
	all.add(own)
	_, again := h.k.stripped.Load(h.loan())
	var errs []error
	for _, u := range all.stackedInterfaces(home) {
		switch {
		case u.peer != h.index:
			continue
		case u.ns.Same(home) && !u.ours():
			used = used || u.onLAN()
			continue
		case again && (h.pod == nil || !all.mayHavePut(h.pod.ns, u.ns, home)):
			errs = append(errs, h.lost(fmt.Sprintf("%s device %q in %s has come to stand on it", u.kind, u.name, u.ns.path)))
			continue
		}
		s, err := podSession(u.ns)
		if err != nil {
			continue // the namespace has ended
		}
		errs = append(errs, ignoreAbsent(s.delete(u.index)))
		s.close()
	}
	if err := errors.Join(errs...); err == nil {
		h.k.stripped.Store(h.loan(), true)
	}
	l, err := h.host.linkAt(h.index)
	return used || l != nil && l.master != 0, errors.Join(append(errs, err)...)
}

// loan distinguishes the times that a NIC was given away.
func (h *nicReturn) loan() string { return h.n.Alias + " " + h.n.Was.Taken.String() }
