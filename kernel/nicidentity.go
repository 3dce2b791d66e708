package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// A container may give its interfaces any name, number, MAC address and alias. What it
// cannot choose is what the kernel says a NIC hangs on, wherever it is:
//
//   - hardware: the device that its driver found (IFLA_PARENT_DEV_NAME), with the MAC
//     address that it was made with (IFLA_PERM_ADDRESS) and, where the device has several
//     ports, the port's name (IFLA_PHYS_PORT_NAME);
//   - one end of a pair: the far end, which says where the near one is (IFLA_LINK,
//     IFLA_LINK_NETNSID);
//   - a VLAN device: its lower device, on which there is one of its tag.
//
// Other devices (dummy, tap) hang on nothing, and lead nowhere: they are known by alias
// and number, in the container alone.

// identity reads them.
func (l linkState) identity(w *heddle.NICState) {
	w.Bus, w.Device, w.Permanent, w.Port = l.bus, l.device, l.permanent, l.portName
	w.Peer, w.PeerElsewhere, w.PeerNSID = l.peer, l.elsewhere, l.nsid
	w.VLAN, w.VLANProtocol = l.vlan, l.protocol
}

// found is a NIC, and where it is.
type found struct {
	at   *session
	link linkState
}

// seek finds the NIC: nil if it is gone for good. The error has the code
// heddle.Quarantined if that is not proven.
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

// search looks on the host, in the container, and then everywhere else; the last time
// also where a socket alone leads. If the NIC is not found and not gone, the doubt is why,
// which says how that is known.
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

// afterAll takes for gone what is not found by a deep search either.
func afterAll(deep bool) bool { return deep }

// look finds the NIC at one of the sites.
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

// others opens the namespaces besides the host's and the container's.
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

// unplugged reports whether the NIC's hardware is gone, and the NIC with it.
func (h *nicReturn) unplugged() bool {
	_, err := os.Stat(filepath.Join("/sys/bus", h.n.Was.Bus, "devices", h.n.Was.Device))
	_, errBus := os.Stat(filepath.Join("/sys/bus", h.n.Was.Bus))
	return errors.Is(err, os.ErrNotExist) && errBus == nil
}

// sameLower reports whether a device stands where the NIC does, and has its tag, of which
// there is one on a device (vlan_check_real_dev in net/8021q/vlan.c). One of a kind without
// a tag is known by its number or MAC address; on the host, by its mark or its name.
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

// byMark finds a NIC by what a container can write too.
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

// removeStacked frees the NIC, which is at home, from all that stands on it elsewhere: while it
// was away, none but the container could put that there. Then it has the kernel prove
// that nothing is left: it makes no passthru device where there is another macvlan
// device, and none at all where there is an ipvlan device, in whichever namespace they
// are (macvlan_common_newlink in drivers/net/macvlan.c). Nor does it where the host itself
// has made such a device on the NIC already, or put it in a bridge or a bond: then that
// proves nothing, and is not asked.
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

// strip deletes what stands on the NIC, which is at home, in all namespaces but the
// host's: the first time all, and later, when the NIC may be in use again, only what is
// the container's or may be. It reports whether the host uses it: a macvlan or ipvlan
// device of the user's stands on it, or it belongs to a bridge or a bond.
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
			continue // it has ended
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

// loan tells the times apart that a NIC was given away.
func (h *nicReturn) loan() string { return h.n.Alias + " " + h.n.Was.Taken.String() }
