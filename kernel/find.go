package kernel

import (
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// Seen is an interface that was found by its alias or index.
type Seen struct {
	Name string
	MAC  heddle.MAC
	Up   bool
	// NoIPv6 says that IPv6 is disabled on the interface.
	NoIPv6 bool
	// Index is the index of the interface in its namespace.
	Index int
}

func toSeen(l *linkState) *Seen {
	if l == nil {
		return nil
	}
	return &Seen{Name: l.name, MAC: l.mac, Up: l.up, NoIPv6: l.noIPv6, Index: l.index}
}

// Find looks for an interface by its alias, which stays when the interface is moved or renamed. It
// returns nil if there is none.
func (n *Netns) Find(alias string) (*Seen, error) {
	s, err := podSession(n)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.find(alias)
}

// FindIndex looks for an interface by its index, which stays when the interface is renamed. It
// returns nil if there is none.
func (n *Netns) FindIndex(index int) (*Seen, error) {
	s, err := podSession(n)
	if err != nil {
		return nil, err
	}
	defer s.close()
	l, err := s.linkAt(index)
	return toSeen(l), refused("read interface of", n.path, err)
}

// FarEnd finds the far end of a pair by its near end. The near end is on the host, where a
// container cannot change anything. FarEnd returns nil if the far end is not in the namespace.
func (k *Kernel) FarEnd(near string, in Pod) (*Seen, error) {
	pod, err := netnsOf(in)
	if err != nil {
		return nil, err
	}
	host := k.hostSession()
	l, err := host.link(near)
	if err != nil || l == nil || l.kind != "veth" || !l.elsewhere {
		return nil, refused("read interface", near, err)
	}
	if number, err := host.readNumber(pod); err != nil || number != l.nsid {
		return nil, refused("read the number of", pod.path, err)
	}
	return pod.FindIndex(l.peer)
}

// Shelve puts an interface that Find returned out of use: it sets the interface down, and
// renames it unless the new name is empty. A missing interface is no error.
func (n *Netns) Shelve(seen *Seen, name string) error {
	s, err := podSession(n)
	if err != nil {
		return err
	}
	defer s.close()
	requests := []*nl.NetlinkRequest{raiseLink(seen.Index, false)}
	if name != "" {
		rename := request(unix.RTM_NEWLINK, 0, indexed(seen.Index))
		rename.AddData(textAttr(unix.IFLA_IFNAME, name))
		requests = append(requests, rename)
	}
	return refused("lower and rename interface", seen.Name, ignoreAbsent(s.rt.execute(requests...)))
}

// Has reports whether the host has an interface of that name and alias.
func (k *Kernel) Has(name, alias string) (bool, error) {
	l, err := k.hostSession().link(name)
	return l != nil && l.alias == alias, refused("read interface", name, err)
}

func (s *session) find(alias string) (*Seen, error) {
	all, err := s.links()
	if err != nil {
		return nil, heddle.Wrap(heddle.KernelRefused, "list interfaces in", s.ns.path, err, "try again")
	}
	for _, l := range all {
		if l.alias == alias {
			return toSeen(&l), nil
		}
	}
	return nil, nil
}
