package kernel

import (
	"errors"
	"fmt"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

func (a *attempt) route(s *site, x heddle.Route) error {
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
			a.born(s, x.Key(), func() error { return s.rt.execute(routeRequest(unix.RTM_DELROUTE, 0, r)) })
		}
		return err
	})
}

// sameRoute replaces a route of ours that leads elsewhere.
func (a *attempt) sameRoute(s *site, r routeAt) error {
	old, found, err := a.liveRoute(s, idOf(r.Route))
	switch {
	case err != nil:
		return err
	case found && old.same(r):
		return nil
	case found:
		a.did(r.Key(), func() error { return s.swapRoute(r, old) })
		return s.swapRoute(old, r)
	}
	return fmt.Errorf("another route to %s with this metric is there, and it is not ours", r.Dst)
}

// liveRoute finds a route of ours in a list that is read once, and once more for
// what is not in it: this call may have made it.
func (a *attempt) liveRoute(s *site, id routeID) (routeAt, bool, error) {
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

// swapRoute puts one route in the place of another, and no packet finds neither.
// NLM_F_REPLACE would take whichever route comes first, also a stranger's. An
// IPv4 route is appended to the old one, which is then the first that a deletion
// fits. IPv6 would make one route with two next hops of them, or refuse the
// second: another with a better metric stands in meanwhile.
func (s *site) swapRoute(old, new routeAt) error {
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

// rule makes a policy rule. The kernel takes a second rule that differs only in
// its table, so rules of ours that are in the way are removed; where this call
// has made a link, its endpoint is new and there can be none, which keeps an
// attach from listing all rules.
func (a *attempt) rule(s *site, x heddle.Rule) error {
	return a.step("make", x.Key(), func() error {
		err := s.rt.execute(ruleRequest(unix.RTM_NEWRULE, excl, x))
		if err == nil {
			a.born(s, x.Key(), func() error { return s.rt.execute(ruleRequest(unix.RTM_DELRULE, 0, x)) })
		}
		if err != nil && !exists(err) || len(a.fresh) > 0 {
			return ignoreExists(err)
		}
		live, err := s.rules()
		for _, old := range live {
			if old.Key() != x.Key() || old == x {
				continue
			}
			a.did(x.Key(), func() error { return s.rt.execute(ruleRequest(unix.RTM_NEWRULE, excl, old)) })
			err = errors.Join(err, s.rt.execute(ruleRequest(unix.RTM_DELRULE, 0, old)))
		}
		return err
	})
}

func ignoreExists(err error) error {
	if exists(err) {
		return nil
	}
	return err
}
