package kernel

import (
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// Seen is an interface as it was found by its alias.
type Seen struct {
	Name string
	MAC  heddle.MAC
	Up   bool
	// NoIPv6 says that IPv6 is off on it.
	NoIPv6 bool
	index  int
}

// Find looks for an interface by its alias, which it keeps wherever it is moved
// and however it is renamed; nil if there is none.
func (n *Netns) Find(alias string) (*Seen, error) {
	s, err := podSite(n)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.find(alias)
}

// Shelve takes an interface that was found out of use: it is lowered, and called by
// another name from then on, unless that is empty. One that is not there is out of use.
func (n *Netns) Shelve(seen *Seen, name string) error {
	s, err := podSite(n)
	if err != nil {
		return err
	}
	defer s.close()
	requests := []*nl.NetlinkRequest{raiseLink(seen.index, false)}
	if name != "" {
		rename := request(unix.RTM_NEWLINK, 0, indexed(seen.index))
		rename.AddData(textAttr(unix.IFLA_IFNAME, name))
		requests = append(requests, rename)
	}
	return refused("lower and rename interface", seen.Name, ignoreAbsent(s.rt.execute(requests...)))
}

// Has reports whether the host has an interface of that name and alias.
func (k *Kernel) Has(name, alias string) (bool, error) {
	l, err := k.hostSite().link(name)
	return l != nil && l.alias == alias, refused("read interface", name, err)
}

func (s *site) find(alias string) (*Seen, error) {
	all, err := s.links()
	if err != nil {
		return nil, heddle.Wrap(heddle.KernelRefused, "list interfaces in", s.ns.path, err, "")
	}
	for _, l := range all {
		if l.alias == alias {
			return &Seen{Name: l.name, MAC: l.mac, Up: l.up, NoIPv6: l.noIPv6, index: l.index}, nil
		}
	}
	return nil, nil
}
