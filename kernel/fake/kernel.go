package fake

import (
	"context"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// Kernel is a handle on a host, as kernel.Kernel is a handle on the calling thread's namespace.
type Kernel struct {
	// Tripwire and Wanted are like those of kernel.Kernel. A tripwire that does not return
	// simulates a crash: what was done stays.
	Tripwire func(step string) error
	Wanted   func(key string) int

	host *Host
}

// Open returns a handle on the host.
func (h *Host) Open() *Kernel { return &Kernel{host: h} }

// Close closes the handle. Objects stay.
func (k *Kernel) Close() error { return nil }

func (k *Kernel) trip(verb, key string) error {
	if k.Tripwire == nil {
		return nil
	}
	if err := k.Tripwire(verb + " " + key); err != nil {
		return heddle.Wrap(heddle.KernelRefused, verb, key, err, "")
	}
	return nil
}

// do does something to the host.
func (k *Kernel) do(what func() error) error {
	k.host.mu.Lock()
	defer k.host.mu.Unlock()
	return what()
}

// shared reports whether a plan other than the one being applied wants an object.
func (k *Kernel) shared(key string) bool { return k.Wanted != nil && k.Wanted(key) > 1 }

// Ours lists everything of the host that bears our mark.
func (k *Kernel) Ours() (o kernel.Owned, err error) {
	k.host.mu.Lock()
	defer k.host.mu.Unlock()
	s := k.host.own
	for _, l := range s.links {
		if l.isOurs() {
			o.State.Links = append(o.State.Links, l.Link)
		}
	}
	for _, x := range s.objects {
		switch x := x.(type) {
		case heddle.Firewall:
			o.State.Firewall = append(o.State.Firewall, heddle.Firewall{Family: x.Family, Kind: x.Kind, Name: x.Name})
		case heddle.Element:
			o.State.Elements = append(o.State.Elements, x)
		case heddle.Route:
			o.State.Routes = append(o.State.Routes, x)
		case heddle.Rule:
			o.State.Rules = append(o.State.Rules, x)
		case heddle.Proxy:
			o.State.Proxies = append(o.State.Proxies, x)
		case heddle.Shortcut:
			o.State.Shortcuts = append(o.State.Shortcuts, heddle.Shortcut{Prefix: x.Prefix})
		case heddle.Remote:
			o.State.Remotes = append(o.State.Remotes, heddle.Remote{Addr: x.Addr})
		case heddle.Redirect:
			if l := s.links[x.Link]; l != nil && !l.isOurs() {
				o.State.Redirects = append(o.State.Redirects, x)
			}
		case heddle.Bucket:
			if l := s.links[x.Link]; l != nil && l.isOurs() {
				o.State.Buckets = append(o.State.Buckets, x)
			}
		case heddle.Divert:
			if l := s.links[x.Link]; l != nil && l.isOurs() {
				o.State.Diverts = append(o.State.Diverts, x)
			}
		case heddle.Program:
			if x.Wire != nil {
				o.State.Programs = append(o.State.Programs, x)
			}
		case heddle.Sysctl:
			if name, way := x.IsLoopbackWay(); way && x.Value == "1" && s.links[name] != nil && s.links[name].isOurs() {
				o.State.Sysctls = append(o.State.Sysctls, x)
			}
		}
	}
	sorted(&o.State)
	return o, nil
}

// Prune removes the objects that bear our mark, unless wanted reports true.
func (k *Kernel) Prune(wanted func(key string) bool) (removed []string, err error) {
	o, err := k.Ours()
	if err != nil {
		return nil, err
	}
	left := o.State.Filter(func(x heddle.Object) bool { return !wanted(x.Key()) })
	if left.Empty() {
		return nil, nil
	}
	return kernel.Owned{State: left}.Keys(), k.Remove(heddle.Plan{Host: left}, nil, wanted)
}

// Watch reports nothing: whoever else changes the host must report it.
func (k *Kernel) Watch(context.Context) (<-chan kernel.Change, error) {
	return make(chan kernel.Change), nil
}

// sorted puts tables before their contents; the other objects need no order.
func sorted(s *heddle.State) {
	slices.SortFunc(s.Firewall, func(a, b heddle.Firewall) int {
		switch {
		case a.Kind == "table" && b.Kind != "table":
			return -1
		case a.Kind != "table" && b.Kind == "table":
			return 1
		}
		return 0
	})
}
