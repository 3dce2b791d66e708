package kernel

import (
	"errors"

	"github.com/heddle-network/heddle"
)

// MarkedNIC is an interface of the host that bears a NIC's mark: it is on its
// way, or came back under another name (Endpoint is empty then).
type MarkedNIC struct{ Name, Was, Endpoint string }

// MarkedNICs lists them.
func (k *Kernel) MarkedNICs() ([]MarkedNIC, error) {
	live, err := k.listing().links()
	var all []MarkedNIC
	for _, l := range live {
		if was, endpoint, ok := heddle.ParseNICAlias(l.alias); ok {
			all = append(all, MarkedNIC{l.name, was, endpoint})
		}
	}
	return all, refused("list", "links", err)
}

// Rescue brings the NICs in a held namespace back under their names: all that
// is known of them when their record is lost. It returns their names. A file
// that leads to no namespace holds none.
func (k *Kernel) Rescue(hold string) (names []string, err error) {
	ns, err := OpenNetns(hold)
	if err != nil {
		return nil, nil
	}
	defer ns.Close()
	pod, err := podSite(ns)
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
		was, _, ok := heddle.ParseNICAlias(l.alias)
		if !ok {
			continue
		}
		n := heddle.NIC{Name: was, MAC: l.mac, Alias: l.alias}
		var have heddle.NICState
		errs = append(errs, pod.nicFlags(l.name, &have))
		n.Was = heddle.NICState{MTU: l.mtu, QueueLen: have.QueueLen, Group: l.group, XDP: have.XDP}
		err, _ := (&homecoming{n: n, host: k.hostSite(), pod: pod}).run()
		errs = append(errs, err)
		names = append(names, was)
	}
	return names, errors.Join(errs...)
}
