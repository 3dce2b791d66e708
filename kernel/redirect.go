package kernel

import (
	"errors"
	"slices"

	"github.com/heddle-network/heddle"
)

// redirectKind are the filters on interfaces' egress that redirect packets into the host's stack.
type redirectKind struct{}

func (redirectKind) make(a *attempt, s *session, want *heddle.State) error {
	return each(want.Redirects, func(x heddle.Redirect) error { return a.redirect(s, x) })
}

// redirect makes a redirect, and replaces one that leads elsewhere.
func (a *attempt) redirect(s *session, x heddle.Redirect) error {
	return a.step("make", x.Key(), func() error {
		index, to, err := s.ends(x)
		if err != nil {
			return err
		}
		live, err := s.redirectsOn(index)
		if err != nil {
			return err
		}
		var old []redirectAt
		there := false
		for _, r := range live {
			switch {
			case r.prefix != x.Prefix:
			case r.to == to && (x.By == "" || x.By == r.by):
				there = true
			default:
				old = append(old, r)
			}
		}
		// the new filter first: two filters may be there for a moment, but not none
		if !there {
			a.recordCreated(s, x.Key(), func() error { return s.deleteRedirect(x) }) // this also deletes a qdisc that got no filter
			if err := a.k.putRedirect(s, index, to, x); err != nil {
				return err
			}
		}
		for _, r := range old {
			if err := s.dropRedirect(index, r); err != nil {
				return err
			}
		}
		return nil
	})
}

func (redirectKind) compare(d *differ, want *heddle.State) error {
	live := map[int][]redirectAt{}
	for _, x := range want.Redirects {
		index := d.index(x.Link)
		if index == 0 {
			d.missing(x)
			continue
		}
		if _, known := live[index]; !known {
			all, err := d.s.redirectsOn(index)
			if err != nil {
				return err
			}
			live[index] = all
		}
		d.redirect(x, live[index])
	}
	return nil
}

// redirect compares all filters for the prefix: an old filter beside the right one may match the
// packets first.
func (d *differ) redirect(x heddle.Redirect, live []redirectAt) {
	there := false
	for _, r := range live {
		switch {
		case r.prefix != x.Prefix:
			continue
		case r.to != d.index(x.To) || r.to == 0:
			d.differs(x, "want to %s, have to %s", x.To, d.nameOf(r.to))
			return
		case x.By != "" && x.By != r.by:
			d.differs(x, "want by %s, have by %s", x.By, r.by)
			return
		}
		there = true
	}
	if !there {
		d.missing(x)
	}
}

func (redirectKind) remove(r *removal, s *session, gone *heddle.State) {
	for _, x := range slices.Backward(gone.Redirects) {
		r.step(s, x.Key(), "", func() error { return s.deleteRedirect(x) })
	}
}

// own lists the redirects on all interfaces that are not ours.
func (redirectKind) own(v *inventory) error {
	qdiscs, err := v.s.bearers(clsactQdisc)
	if err != nil || len(qdiscs) == 0 {
		return err
	}
	names, err := v.names()
	if err != nil {
		return err
	}
	links, err := v.s.listedLinks()
	for _, l := range links {
		if l.ours() || !qdiscs[l.index] {
			continue
		}
		all, e := v.s.redirectsOn(l.index)
		err = errors.Join(err, e)
		for _, r := range all {
			v.found.Redirects = append(v.found.Redirects, heddle.Redirect{Link: l.name, To: names[r.to], Prefix: r.prefix, By: r.by})
		}
	}
	return err
}
