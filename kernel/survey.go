package kernel

import (
	"maps"
	"slices"
	"sync"
)

// survey is what one search of the host's namespaces has found: the namespaces, all open, and the
// interfaces in them that are stacked on interfaces of the host.
type survey struct {
	all    namespaces
	uppers []upper
	err    error

	ready chan struct{}
	users int
}

// surveys are searches of the host's namespaces that several callers share. A search takes long on a
// full host, and many endpoints may be removed at the same time. Whoever comes while one is under way
// shares the next with all others who wait: it has to see what was there when they came.
type surveys struct {
	mu   sync.Mutex
	next *survey // nobody has begun it
}

// join waits for a search that begins after the call. The caller leaves the survey soon, because nobody
// else can search meanwhile.
func (s *surveys) join(home *Netns) (*survey, error) {
	s.mu.Lock()
	first := s.next == nil
	if first {
		s.next = &survey{ready: make(chan struct{})}
	}
	v := s.next
	v.users++
	s.mu.Unlock()
	if first {
		searching.Lock()
		s.mu.Lock()
		s.next = nil
		s.mu.Unlock()
		if v.all, v.err = openNamespaces(); v.err == nil {
			v.uppers = v.all.stackedInterfaces(home)
		}
		close(v.ready)
	}
	<-v.ready
	if v.err != nil {
		s.leave(v)
		return nil, v.err
	}
	return v, nil
}

// leave ends a caller's use of a survey. The last one closes the namespaces, and lets others search.
func (s *surveys) leave(v *survey) {
	s.mu.Lock()
	v.users--
	last := v.users == 0
	s.mu.Unlock()
	if last {
		v.all.close()
	}
}

// look finds the interfaces that are stacked on the host's, in all namespaces and in the container's,
// and returns these namespaces. It may share a search. The caller calls end soon.
func (k *Kernel) look(pod *Netns) (all namespaces, uppers []upper, end func(), err error) {
	v, err := k.surveys.join(k.home)
	if err != nil {
		return nil, nil, nil, err
	}
	all, uppers = maps.Clone(v.all), v.uppers
	if pod != nil && !slices.ContainsFunc(slices.Collect(maps.Values(all)), pod.Same) {
		all[pod.path] = pod
		uppers = slices.Concat(uppers, namespaces{pod.path: pod}.stackedInterfaces(k.home))
	}
	return all, uppers, func() { k.surveys.leave(v) }, nil
}

// lookDeep is look for who wants the namespaces that only sockets keep, too. It takes long, and shares
// nothing.
func (k *Kernel) lookDeep(pod *Netns) (all namespaces, uppers []upper, end func(), err error) {
	if all, err = allNamespaces(); err != nil {
		return nil, nil, nil, err
	}
	if pod != nil {
		own, err := pod.Dup()
		if err != nil {
			all.close()
			return nil, nil, nil, err
		}
		all.add(own)
	}
	all.addSockets()
	return all, all.stackedInterfaces(k.home), all.close, nil
}
