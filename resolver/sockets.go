package resolver

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle/resolver/process"
)

// sockets are those at the addresses of the networks. One goroutine uses them.
type sockets struct {
	serve func(netip.Addr, *socket)
	open  map[netip.Addr]*socket
	fails map[netip.Addr]string
}

func newSockets(serve func(netip.Addr, *socket)) *sockets {
	return &sockets{serve: serve, open: map[netip.Addr]*socket{}, fails: map[netip.Addr]string{}}
}

// want opens sockets at these addresses, and closes all others.
func (s *sockets) want(all []netip.Addr) {
	for a, o := range s.open {
		if !slices.Contains(all, a) {
			o.close()
			delete(s.open, a)
		}
	}
	clear(s.fails)
	for _, a := range all {
		if s.open[a] == nil {
			s.fails[a] = ""
		}
	}
	s.retry()
}

// retry tries again to open the sockets that are missing, and reports whether something has
// changed.
func (s *sockets) retry() (changed bool) {
	for a, was := range s.fails {
		o, err := listen(a)
		if err != nil {
			s.fails[a] = err.Error()
			changed = changed || was != err.Error()
			continue
		}
		delete(s.fails, a)
		s.open[a], changed = o, true
		s.serve(a, o)
	}
	return changed
}

// state tells where containers are answered, and where they are not.
func (s *sockets) state() (serves []netip.Addr, fails []process.Fail) {
	serves = []netip.Addr{}
	for a := range s.open {
		serves = append(serves, a)
	}
	for a, cause := range s.fails {
		fails = append(fails, process.Fail{Addr: a, Cause: cause})
	}
	slices.SortFunc(serves, netip.Addr.Compare)
	slices.SortFunc(fails, func(a, b process.Fail) int { return a.Addr.Compare(b.Addr) })
	return serves, fails
}

// serve answers at an address until its sockets are closed.
func (s *server) serve(at netip.Addr, o *socket) {
	for _, udp := range o.udp {
		go s.serveUDP(at, udp)
	}
	go s.serveTCP(at, o.tcp)
}
