package kernel

import (
	"errors"

	"github.com/heddle-network/heddle"
)

// MarkedNIC is an interface of the host that bears a NIC's mark. The NIC is being moved, or it came
// back under another name; then Endpoint is empty.
type MarkedNIC struct{ Name, Was, Endpoint string }

// MarkedNICs lists the marked NICs on the host.
func (k *Kernel) MarkedNICs() ([]MarkedNIC, error) {
	live, err := k.listing().linksButPorts()
	var all []MarkedNIC
	for _, l := range live {
		if was, endpoint, ok := heddle.ParseNICAlias(l.alias); ok {
			all = append(all, MarkedNIC{l.name, was, endpoint})
		}
	}
	return all, refused("list", "links", err)
}

// Rescue brings the NICs in a held namespace back under their names, which is all that is known
// when their record is lost. It returns their names. A file that leads to no namespace holds no
// NIC.
func (k *Kernel) Rescue(hold string) (names []string, err error) {
	ns, err := OpenNetns(hold)
	if err != nil {
		return nil, nil
	}
	defer ns.Close()
	pod, err := podSession(ns)
	if err != nil {
		return nil, err
	}
	defer pod.close()
	live, err := pod.links()
	if err != nil {
		return nil, refused("list", "links of "+hold, err)
	}
	var errs []error
	for _, l := range live {
		if was, _, ok := heddle.ParseNICAlias(l.alias); ok {
			errs = append(errs, k.rescue(pod, pod, l, was))
			names = append(names, was)
		}
	}
	return names, errors.Join(errs...)
}

// RescueHere does the same for a NIC that the kernel has returned to the host.
func (k *Kernel) RescueHere(m MarkedNIC) error {
	live, err := k.listing().link(m.Name)
	if err != nil || live == nil {
		return refused("read", "nic/"+m.Name, err)
	}
	if was, endpoint, ok := heddle.ParseNICAlias(live.alias); !ok || was != m.Was || endpoint != m.Endpoint {
		return nil // it has returned meanwhile
	}
	return k.rescue(k.hostSession(), nil, *live, m.Was)
}

// rescue treats the present state of the NIC as its original state.
func (k *Kernel) rescue(at, pod *session, l linkState, was string) error {
	var have heddle.NICState
	if err := at.nicFlags(l.index, &have); err != nil {
		return refused("read", "nic/"+l.name, err)
	}
	n := heddle.NIC{Name: was, MAC: l.mac, Alias: l.alias}
	n.Was = have
	n.Was.Kind, n.Was.MTU, n.Was.Group = l.kind, l.mtu, l.group
	n.Was.Promisc, n.Was.AllMulti, n.Was.NoARP, n.Was.NoMulticast, n.Was.LinkMode, n.Was.ProtoDown = false, false, false, false, 0, false
	err, _ := (&nicReturn{k: k, n: n, host: k.hostSession(), pod: pod}).run()
	return err
}
