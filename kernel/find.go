package kernel

import (
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// Seen is an interface as it was found by its alias.
type Seen struct {
	Name string
	MAC  heddle.MAC
	Up   bool
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

// Shelve takes an interface out of use until it is deleted: found by its alias, it is
// lowered and gets another name. One that is not there is out of use.
func (n *Netns) Shelve(alias, name string) error {
	s, err := podSite(n)
	if err != nil {
		return err
	}
	defer s.close()
	seen, err := s.find(alias)
	if err != nil || seen == nil || seen.Name == name {
		return err
	}
	index, err := s.ifindex(seen.Name)
	if err == nil {
		rename := request(unix.RTM_NEWLINK, 0, indexed(index))
		rename.AddData(textAttr(unix.IFLA_IFNAME, name))
		err = s.rt.execute(raiseLink(index, false), rename)
	}
	return refused("lower and rename interface", seen.Name, ignoreAbsent(err))
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
			return &Seen{Name: l.name, MAC: l.mac, Up: l.up}, nil
		}
	}
	return nil, nil
}
