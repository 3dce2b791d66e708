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
			a.did(x.Key(), func() error { return s.rt.execute(routeRequest(unix.RTM_DELROUTE, 0, r)) })
		}
		return err
	})
}

// sameRoute replaces a route of ours that leads elsewhere. Deleting it and
// making the new one go in one send; NLM_F_REPLACE would take whichever route
// comes first, also a stranger's.
func (a *attempt) sameRoute(s *site, r routeAt) error {
	live, err := s.routes()
	if err != nil {
		return err
	}
	for _, old := range live {
		if idOf(old.Route) != idOf(r.Route) {
			continue
		}
		if old.same(r) {
			return nil
		}
		swap := func(from, to routeAt) error {
			return s.rt.execute(routeRequest(unix.RTM_DELROUTE, 0, from), routeRequest(unix.RTM_NEWROUTE, excl, to))
		}
		a.did(r.Key(), func() error { return swap(r, old) })
		return swap(old, r)
	}
	return fmt.Errorf("another route to %s with this metric is there, and it is not ours", r.Dst)
}

// rule makes a policy rule. The kernel takes a second rule that differs only in
// its table, so rules of ours that are in the way are removed; where this call
// has made a link, its endpoint is new and there can be none, which keeps an
// attach from listing all rules.
func (a *attempt) rule(s *site, x heddle.Rule) error {
	return a.step("make", x.Key(), func() error {
		err := s.rt.execute(ruleRequest(unix.RTM_NEWRULE, excl, x))
		if err == nil {
			a.did(x.Key(), func() error { return s.rt.execute(ruleRequest(unix.RTM_DELRULE, 0, x)) })
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
