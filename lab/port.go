package lab

import (
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
)

// wire is one wire of a host, with both its ends: the host's NIC and the switch's port.
type wire struct {
	host   *Host
	sw     *Host
	nic    string
	port   string
	spec   *NIC
	number int  // of the NIC
	cut    bool // segmentation offload is off on all wires of the lab
}

// findWire returns the wire of that name: HOST for its eth0, or HOST:ethN.
func (l *Lab) findWire(name string) (wire, error) {
	host, nic, said := strings.Cut(name, ":")
	number := 0
	if said {
		digits, found := strings.CutPrefix(nic, "eth")
		i, err := strconv.Atoi(digits)
		if !found || err != nil {
			return wire{}, refuse("find wire", name, "that is not HOST or HOST:ethN",
				"name a host, or one of its NICs, such as host1:eth0")
		}
		number = i
	}
	n := l.Topology.findNode(host)
	if n == nil {
		return wire{}, l.noHost(host)
	}
	if number < 0 || number >= len(n.NICs) {
		return wire{}, refuse("find wire", name,
			"the host has no such NIC, or it is a spare one", "choose another NIC of the host")
	}
	h, err := l.Host(host)
	if err != nil {
		return wire{}, err
	}
	sw, err := l.Host(n.NICs[number].Switch)
	if err != nil {
		return wire{}, err
	}
	if !sw.Alive() || !h.Alive() {
		return wire{}, heddle.Errorf(heddle.NoLab, "reach wires of lab", l.Name, notUp, makeLab)
	}
	return wire{h, sw, NICName(number), portName(host, number), &n.NICs[number], number, l.Topology.Cut}, nil
}

// wires returns the wires of that name: all of a switch, or a single one.
func (l *Lab) wires(name string) (all []wire, err error) {
	if l.Topology.findSwitch(name) == nil {
		w, err := l.findWire(name)
		return []wire{w}, err
	}
	for _, n := range l.Topology.Hosts {
		for i, nic := range n.NICs {
			if nic.Switch != name {
				continue
			}
			w, err := l.findWire(n.Name + ":" + NICName(i))
			if err != nil {
				return nil, err
			}
			all = append(all, w)
		}
	}
	return all, nil
}

// String returns the name that findWire takes.
func (w wire) String() string {
	if w.number == 0 {
		return w.host.Name
	}
	return w.host.Name + ":" + w.nic
}

// relayPort returns the name of the bridge's port while a relay is in the wire.
func relayPort(port string) string { return port + "~" }

// ends calls do with the namespaces of both ends of the wire.
func (w wire) ends(do func(sw, host *namespace) error) error {
	sw, err := w.sw.enter()
	if err != nil {
		return err
	}
	defer sw.Close()
	host, err := w.host.enter()
	if err != nil {
		return err
	}
	defer host.Close()
	return do(sw, host)
}

// SetPort disconnects a host from its switches, or connects it again. A disconnected host's
// NICs lose their carrier, as if the cables were pulled, but keep their addresses.
func (l *Lab) SetPort(host string, up bool) error {
	n := l.Topology.findNode(host)
	if n == nil {
		return refuse("switch port of host", host, "the lab has no such host", "name one of its hosts")
	}
	for i := range n.NICs {
		w, err := l.findWire(host + ":" + NICName(i))
		if err != nil {
			return err
		}
		if err := w.ends(func(sw, _ *namespace) error { return sw.setPort(w.port, up) }); err != nil {
			return heddle.Wrap(heddle.LabFailed, "switch port of host", host, err, "")
		}
	}
	return nil
}

func (s *namespace) setPort(name string, up bool) error {
	link, err := s.LinkByName(name)
	if err != nil {
		return err
	}
	if up {
		return s.LinkSetUp(link)
	}
	return s.LinkSetDown(link)
}

// agents returns the hosts with an agent, in order.
func (l *Lab) agents() []*Host {
	return slices.DeleteFunc(slices.Clone(l.Hosts), func(h *Host) bool { return h.Socket == "" })
}
