package lab

import (
	"errors"
	"fmt"
)

const uplink = "eth0" // NICName(0)

// plug joins a host to its switches with veth pairs: eth0 in the host, and a port with the
// host's name at the switch. Further ports have names like "host1-eth1". Spare NICs have no
// address, and are down: they are for containers.
func (l *Lab) plug(switches map[string]*switchNamespace, h *Host, n *Node, number int) error {
	in, err := h.enter()
	if err != nil {
		return err
	}
	defer in.Close()
	for i := range len(n.NICs) + n.Spare {
		nic := n.nic(i)
		if err := l.wireNIC(switches[nic.Switch], in, h, nic, number, i); err != nil {
			return err
		}
	}
	if err := in.raise("lo", nil); err != nil {
		return err
	}
	if h.Machine != "" {
		return in.plugMachine(len(n.NICs)+n.Spare, number)
	}
	for i, nic := range n.NICs {
		if n.Router {
			// A router asks for its neighbours from its link-local address. Without
			// duplicate address detection it can use it at once.
			if err := in.sysctl("net/ipv6/conf/"+NICName(i)+"/accept_dad", "0"); err != nil {
				return err
			}
		}
		if err := in.raise(NICName(i), nic.Addresses); err != nil {
			return err
		}
	}
	return in.addRoutes(l.Topology.routes(n))
}

// nic returns one of the node's NICs; a spare one has the wiring of the first.
func (n *Node) nic(i int) NIC {
	if i < len(n.NICs) {
		return n.NICs[i]
	}
	return n.NICs[0]
}

// NICName returns the name of a NIC in its host. The spare NICs come last.
func NICName(nic int) string { return fmt.Sprintf("eth%d", nic) }

func portName(host string, nic int) string {
	if nic == 0 {
		return host
	}
	return host + "-" + NICName(nic)
}

// wireNIC makes one wire of a host.
func (l *Lab) wireNIC(sw *switchNamespace, in *namespace, h *Host, nic NIC, number, i int) error {
	port, name := portName(h.Name, i), NICName(i)
	switchHost, err := l.Host(nic.Switch)
	if err != nil {
		return err
	}
	if err := sw.keepIPv6(switchHost, nic.MTU); err != nil {
		return err
	}
	if err := sw.makePair(sw.bridge, in, port, name, nic.MTU, number, i); err != nil {
		return err
	}
	if l.Topology.Cut {
		if err := errors.Join(sw.setSegmentation(port, false), in.setSegmentation(name, false)); err != nil {
			return fmt.Errorf("cut segments at %s: %w", port, err)
		}
	}
	if l.Topology.Merge {
		if err := in.enableGRO(name); err != nil {
			return fmt.Errorf("merge segments at %s: %w", port, err)
		}
	}
	if err := sw.setLimit(port, nic.Rate.Bits(), nic.MTU); err != nil {
		return fmt.Errorf("rate of port %s: %w", port, err)
	}
	if i > 0 && i >= len(l.Topology.findNode(h.Name).NICs) {
		// A NIC that moves to a container loses its queueing discipline. So only the
		// ports limit the rate.
		return nil
	}
	if err := in.setLimit(name, nic.Rate.Bits(), nic.MTU); err != nil {
		return fmt.Errorf("rate of %s: %w", name, err)
	}
	return nil
}
