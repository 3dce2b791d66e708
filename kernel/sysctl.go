package kernel

import (
	"os"

	"github.com/heddle-network/heddle"
)

// sysctlKind are the kernel's settings. They are not removed, except heddle.LoopbackWay.
type sysctlKind struct{}

// make makes the settings, in one visit to the namespace.
func (sysctlKind) make(a *attempt, s *session, want *heddle.State) error {
	return s.ns.Do(func() error {
		folder := s.openSettings()
		defer folder.close()
		for _, c := range want.Sysctls {
			if err := a.step("make", c.Key(), func() error { return a.sysctl(s, folder, c) }); err != nil {
				return err
			}
		}
		return nil
	})
}

func (a *attempt) sysctl(s *session, folder settings, c heddle.Sysctl) error {
	old, err := folder.read(c.Name)
	if os.IsNotExist(err) {
		if moot, failed := s.moot(folder, c); moot || failed != nil {
			return failed
		}
	}
	if err != nil || old == words(c.Value) {
		return err
	}
	if err := folder.write(c.Name, c.Value); err != nil {
		return err
	}
	a.recordUndo(c.Key(), func() error {
		return s.ns.Do(func() error {
			folder := s.openSettings()
			defer folder.close()
			return folder.write(c.Name, old)
		})
	})
	return nil
}

func (sysctlKind) compare(d *differ, want *heddle.State) error {
	return d.s.ns.Do(func() error {
		folder := d.s.openSettings()
		defer folder.close()
		for _, c := range want.Sysctls {
			have, err := folder.read(c.Name)
			switch {
			case os.IsNotExist(err):
				moot, err := d.s.moot(folder, c)
				if err != nil {
					return err
				}
				if !moot {
					d.missing(c)
				}
			case err != nil:
				return err
			case have != words(c.Value):
				d.differs(c, "want %s, have %s", c.Value, have)
			}
		}
		return nil
	})
}

// remove resets heddle.LoopbackWay, the route for 127.0.0.0/8, on links that stay. All other
// settings stay as they are.
func (sysctlKind) remove(r *removal, s *session, gone *heddle.State) {
	if s == nil || s.pod {
		return
	}
	for _, c := range gone.Sysctls {
		link, is := c.IsLoopbackWay()
		if !is {
			continue
		}
		r.step(s, c.Key(), link, func() error {
			live, err := s.link(link)
			if err != nil || live == nil || !live.ours() {
				return err
			}
			return s.ns.Do(func() error {
				folder := s.openSettings()
				defer folder.close()
				return folder.write(c.Name, "0")
			})
		})
	}
}

// own lists heddle.LoopbackWay on our links. The links have been found before.
func (sysctlKind) own(v *inventory) error {
	return v.s.ns.Do(func() error {
		folder := v.s.openSettings()
		defer folder.close()
		for _, l := range v.found.Links {
			c := heddle.Sysctl{Name: heddle.LoopbackWayOf(l.Name), Value: "1"}
			if value, err := folder.read(c.Name); err == nil && value == c.Value {
				v.found.Sysctls = append(v.found.Sysctls, c)
			}
		}
		return nil
	})
}
