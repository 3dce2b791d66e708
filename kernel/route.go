package kernel

import (
	"errors"
	"fmt"
	"slices"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// routeKind are our routes in all tables.
type routeKind struct{}

func (routeKind) make(a *attempt, s *session, want *heddle.State) error {
	return each(want.Routes, func(x heddle.Route) error { return a.route(s, x) })
}

func (a *attempt) route(s *session, x heddle.Route) error {
	return a.step("make", x.Key(), func() error {
		r, err := s.at(x)
		if err != nil {
			return err
		}
		err = s.rt.execute(routeRequest(unix.RTM_NEWROUTE, excl, r))
		if exists(err) {
			return a.sameRoute(s, r)
		}
		if err == nil {
			a.recordCreated(s, x.Key(), func() error { return s.rt.execute(routeRequest(unix.RTM_DELROUTE, 0, r)) })
		}
		return err
	})
}

// sameRoute replaces a route of ours that leads elsewhere.
func (a *attempt) sameRoute(s *session, r routeAt) error {
	old, found, err := a.liveRoute(s, idOf(r.Route))
	switch {
	case err != nil:
		return err
	case found && old.same(r):
		return nil
	case found:
		a.recordUndo(r.Key(), func() error { return s.swapRoute(r, old) })
		return s.swapRoute(old, r)
	}
	return fmt.Errorf("another route to %s with this metric is there, and it is not ours", r.Dst)
}

// liveRoute finds a route of ours in a list that is read once. If the route is not in it, the list
// is read once more: this call may have made the route.
func (a *attempt) liveRoute(s *session, id routeID) (routeAt, bool, error) {
	if r, known := a.routes[s.side()][id]; known {
		return r, true, nil
	}
	all, err := s.routes()
	if err != nil {
		return routeAt{}, false, err
	}
	live := map[routeID]routeAt{}
	for _, r := range all {
		live[idOf(r.Route)] = r
	}
	a.routes[s.side()] = live
	r, known := live[id]
	return r, known, nil
}

// swapRoute replaces one route by another without a gap for packets. NLM_F_REPLACE would replace
// the first matching route, which may be somebody else's. A new IPv4 route is appended behind the
// old one, which is then the first that a deletion matches. For IPv6 the kernel would join both to
// one route with two next hops, or refuse the second. So a route with a better metric stands in
// meanwhile.
func (s *session) swapRoute(old, new routeAt) error {
	remove := routeRequest(unix.RTM_DELROUTE, 0, old)
	if new.Dst.Addr().Is4() {
		return s.rt.execute(routeRequest(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_APPEND, new), remove)
	}
	standIn := new
	standIn.Metric = filled(new.Route).Metric - 1
	if err := s.rt.execute(routeRequest(unix.RTM_NEWROUTE, excl, standIn)); err != nil && !exists(err) {
		return err
	}
	err := s.rt.execute(remove, routeRequest(unix.RTM_NEWROUTE, excl, new))
	return errors.Join(err, ignoreAbsent(s.rt.execute(routeRequest(unix.RTM_DELROUTE, 0, standIn))))
}

func (routeKind) compare(d *differ, want *heddle.State) error {
	live, err := d.s.routes()
	if err != nil {
		return err
	}
	there := map[routeID]routeAt{}
	for _, r := range live {
		there[idOf(r.Route)] = r
	}
	return each(want.Routes, func(x heddle.Route) error {
		at := routeAt{Route: x, index: d.index(x.Link)}
		if x.Type != "" {
			at.index = 0
		}
		have, ok := there[idOf(x)]
		switch {
		case !ok:
			return d.missing(x)
		case !have.same(at):
			have.Link = d.nameOf(have.index)
			return d.differs(x, "want %s, have %s", x, plain(have.Route))
		}
		return nil
	})
}

func (routeKind) remove(r *removal, s *session, gone *heddle.State) {
	for _, x := range slices.Backward(gone.Routes) {
		r.step(s, x.Key(), x.Link, func() error { return s.deleteRoute(x) })
	}
}

func (s *session) deleteRoute(x heddle.Route) error {
	at, err := s.at(x)
	if err != nil {
		return err
	}
	return s.rt.execute(routeRequest(unix.RTM_DELROUTE, 0, at))
}

func (routeKind) own(v *inventory) error {
	names, err := v.names()
	if err != nil {
		return err
	}
	live, err := v.s.routes()
	for _, r := range live {
		if r.index != 0 && names[r.index] == "" {
			continue // its link was made after the links were listed: it belongs to who makes that now
		}
		r.Link = names[r.index]
		v.found.Routes = append(v.found.Routes, plain(r.Route))
	}
	return err
}
