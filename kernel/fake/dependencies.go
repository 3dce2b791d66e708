package fake

import (
	"errors"

	"os"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// standsOn is the link whose deletion also deletes the object, "" if there is none. Entries of the
// fast path outlive the links that they refer to.
func standsOn(o heddle.Object) string {
	switch o := o.(type) {
	case heddle.Address:
		return o.Link
	case heddle.Neighbour:
		return o.Link
	case heddle.Proxy:
		return o.Link
	case heddle.Bucket:
		return o.Link
	case heddle.Divert:
		return o.Link
	case heddle.Forward:
		return o.Link
	case heddle.Route:
		if o.Type != "" {
			return ""
		}
		return o.Link
	case heddle.Redirect:
		return o.Link
	case heddle.Program:
		return o.Link
	case heddle.Sysctl:
		return linkOfSetting(o.Name)
	}
	return ""
}

// linkOfSetting is the interface that a setting belongs to, "" if it belongs to the namespace.
func linkOfSetting(name string) string {
	for _, folder := range []string{"/conf/", "/neigh/"} {
		_, rest, is := strings.Cut(name, folder)
		if link, _, below := strings.Cut(rest, "/"); is && below && link != "all" && link != "default" {
			return link
		}
	}
	return ""
}

func linkName(key string) (string, bool) { return strings.CutPrefix(key, "link/") }

// missingDependency says which missing object keeps an object from being made here.
func (s *namespace) missingDependency(o heddle.Object) error {
	switch o := o.(type) {
	case heddle.Sysctl:
		if l := standsOn(o); l != "" && s.links[l] == nil {
			return unix.ENOENT
		}
		return nil
	case heddle.Element:
		if s.objects["firewall/"+o.Family+"/set/"+o.Set] == nil && s.objects["firewall/"+o.Family+"/map/"+o.Set] == nil {
			return unix.ENOENT
		}
		return nil
	case heddle.Route:
		if l := s.links[standsOn(o)]; l != nil && !l.up {
			return unix.ENETDOWN
		}
	case heddle.Divert:
		if s.links[o.To] == nil {
			return unix.ENODEV
		}
	case heddle.Redirect:
		if s.links[o.To] == nil {
			return unix.ENODEV
		}
	case heddle.Shortcut:
		return s.lacksLink(o.Link)
	case heddle.Remote:
		return s.lacksLink(o.Link)
	}
	return s.lacksLink(standsOn(o))
}

func (s *namespace) lacksLink(name string) error {
	if name != "" && s.links[name] == nil {
		return unix.ENODEV
	}
	return nil
}

func isSet(f heddle.Firewall) bool { return f.Kind == "set" || f.Kind == "map" }

// refused words an error as package kernel does.
func refused(verb, key string, err error) error {
	var told *heddle.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &told):
		return err
	case strings.HasPrefix(key, "sysctl/") && errors.Is(err, os.ErrNotExist):
		return heddle.Wrap(heddle.NotOnKernel, verb, key, err, "use a kernel that has this setting")
	}
	return heddle.Wrap(heddle.KernelRefused, verb, key, err, "see 'heddle check', which compares the plan with the kernel")
}

// absent reports whether an error says that something is not there.
func absent(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV)
}

// isOurs reports whether a link bears our mark: its alias or, between the two steps that
// make it, its name and group.
func (l *link) isOurs() bool {
	ourName := l.Kind == "macvlan" || l.Kind == "ipvlan" || len(l.Name) > 1 && slices.Contains(prefixes, l.Name[:2])
	return heddle.IsOurs(l.Alias) || l.Alias == "" && ourName && l.Group&^0xffffff == heddle.GroupBase
}

// prefixes start the names of our links.
var prefixes = []string{heddle.PrefixBridge, heddle.PrefixPort, heddle.PrefixTrunk, heddle.PrefixShim, heddle.PrefixTunnel, heddle.PrefixHand, heddle.PrefixSlave, heddle.PrefixPeering}
