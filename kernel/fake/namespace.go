package fake

import (
	"maps"
	"net/netip"
	"sync/atomic"

	"github.com/heddle-network/heddle"
)

// namespace is a network namespace. The host's lock guards it.
type namespace struct {
	host   *Host
	path   string
	number uint64
	gone   atomic.Bool
	links  map[string]*link
	// objects are all objects but links, by key. on lists the objects that depend on a link and are
	// deleted with it.
	objects map[string]heddle.Object
	on      map[string]map[string]bool
}

// link is an interface with its present settings.
type link struct {
	heddle.Link
	up        bool
	number    int
	namespace *namespace
	// far is the other end of a pair, parent the device below, and above the devices on this one.
	far, parent *link
	above       map[*link]bool
}

func (s *namespace) add(l *link) {
	s.host.index++
	l.namespace, l.number = s, s.host.index
	s.links[l.Name] = l
	if l.parent != nil {
		if l.parent.above == nil {
			l.parent.above = map[*link]bool{}
		}
		l.parent.above[l] = true
	}
}

// put stores an object, and replaces the one with its key.
func (s *namespace) put(key string, o heddle.Object) {
	s.objects[key] = o
	if l := standsOn(o); l != "" {
		if s.on[l] == nil {
			s.on[l] = map[string]bool{}
		}
		s.on[l][key] = true
	}
}

// take removes an object and its parts.
func (s *namespace) take(key string) bool {
	o, there := s.objects[key]
	if !there {
		return false
	}
	delete(s.objects, key)
	delete(s.on[standsOn(o)], key)
	switch o := o.(type) {
	case heddle.Firewall:
		s.takeContents(o)
	case heddle.Address:
		s.takeSourced(o)
	}
	return true
}

// takeContents removes the contents of a table or a set.
func (s *namespace) takeContents(f heddle.Firewall) {
	for key, o := range s.objects {
		switch o := o.(type) {
		case heddle.Firewall:
			if f.Kind == "table" && o.Family == f.Family {
				delete(s.objects, key)
			}
		case heddle.Element:
			if o.Family == f.Family && (f.Kind == "table" || isSet(f) && o.Set == f.Name) {
				delete(s.objects, key)
			}
		}
	}
}

// takeSourced removes the IPv4 routes whose source address has gone (fib_sync_down_addr). With an
// interface's last IPv4 address it removes the interface's IPv4 routes, neighbours and proxies
// (fib_disable_ip, arp_ifdown).
func (s *namespace) takeSourced(a heddle.Address) {
	if a.Prefix.Addr().Is6() {
		return
	}
	if !s.hasAddress(a.Prefix.Addr()) {
		for _, o := range s.objects {
			if r, is := o.(heddle.Route); is && r.Src == a.Prefix.Addr() {
				s.take(r.Key())
			}
		}
	}
	var four []string
	for key := range s.on[a.Link] {
		switch o := s.objects[key].(type) {
		case heddle.Address:
			if o.Prefix.Addr().Is4() {
				return
			}
		case heddle.Route:
			if o.Dst.Addr().Is4() {
				four = append(four, key)
			}
		case heddle.Neighbour:
			if o.Addr.Is4() {
				four = append(four, key)
			}
		case heddle.Proxy:
			if o.Addr.Is4() {
				four = append(four, key)
			}
		}
	}
	for _, key := range four {
		s.take(key)
	}
}

// hasAddress reports whether an address is on any link.
func (s *namespace) hasAddress(addr netip.Addr) bool {
	for _, o := range s.objects {
		if a, is := o.(heddle.Address); is && a.Prefix.Addr() == addr {
			return true
		}
	}
	return false
}

// free detaches the ports of a bridge that is being deleted, and deletes its forwarding table.
func (s *namespace) free(bridge string) {
	for _, port := range s.links {
		if port.Master != bridge {
			continue
		}
		port.Master, port.Port = "", nil
		for key := range maps.Clone(s.on[port.Name]) {
			if f, is := s.objects[key].(heddle.Forward); is && !f.Dst.IsValid() {
				s.take(key)
			}
		}
	}
}

// mislead has the filters that led to a device, which is gone, lead nowhere.
func (s *namespace) mislead(device string) {
	for key, o := range s.objects {
		if d, is := o.(heddle.Divert); is && d.To == device {
			d.To = ""
			s.objects[key] = d
		}
	}
}

// drop deletes a link with its far end, the devices on it, and its objects.
func (s *namespace) drop(l *link) {
	if s.links[l.Name] != l {
		return
	}
	delete(s.links, l.Name)
	for key := range maps.Clone(s.on[l.Name]) {
		s.take(key)
	}
	delete(s.on, l.Name)
	if l.Kind == "ifb" {
		s.mislead(l.Name)
	}
	if l.parent != nil {
		delete(l.parent.above, l)
	}
	for up := range maps.Clone(l.above) {
		up.namespace.drop(up)
	}
	if l.far != nil {
		l.far.namespace.drop(l.far)
	}
	if l.Kind == "bridge" {
		s.free(l.Name)
	}
}

// lose removes any object.
func (s *namespace) lose(key string) bool {
	if name, is := linkName(key); is {
		l := s.links[name]
		if l != nil {
			s.drop(l)
		}
		return l != nil
	}
	return s.take(key)
}

func (s *namespace) all() map[string]heddle.Object {
	all := maps.Clone(s.objects)
	for _, l := range s.links {
		if l.Kind != "" && l.Kind != "dummy" {
			all[l.Key()] = l.Link
		}
	}
	return all
}
