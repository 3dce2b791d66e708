package fake

import (
	"fmt"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// Diff lists the objects of the plan that the host lacks or has differently. Without a container it
// leaves out the container's part.
func (k *Kernel) Diff(p heddle.Plan, in kernel.Pod) (found []kernel.Difference, err error) {
	if err := check("compare", p, true); err != nil {
		return nil, err
	}
	inside, err := k.namespaceOf(in)
	if err != nil {
		return nil, err
	}
	k.host.mu.Lock()
	defer k.host.mu.Unlock()
	found = k.host.own.differs(p.Host)
	if inside != nil {
		found = append(found, inside.differs(p.Pod)...)
	}
	return found, nil
}

func (s *namespace) differs(want heddle.State) (found []kernel.Difference) {
	for _, o := range want.Objects() {
		kind, detail := "", ""
		if l, is := o.(heddle.Link); is {
			kind, detail = s.linkDiffers(l)
		} else if have := s.objects[o.Key()]; have == nil {
			kind = "missing"
			if c, setting := o.(heddle.Sysctl); setting && s.missingDependency(c) == nil {
				kind, detail = "differs", fmt.Sprintf("want %s", c.Value)
			} else if old := s.before(o.Key(), o); old != nil {
				kind, detail = "differs", fmt.Sprintf("want %v, have %v", o, old)
			}
		} else if !s.same(have, o) {
			kind, detail = "differs", fmt.Sprintf("want %v, have %v", o, have)
		}
		if kind != "" {
			found = append(found, kernel.Difference{Key: o.Key(), Kind: kind, Detail: detail})
		}
	}
	return found
}

func (s *namespace) linkDiffers(l heddle.Link) (kind, detail string) {
	have := s.links[l.Name]
	switch {
	case have == nil:
		return "missing", ""
	case l.Kind != "" && !heddle.Same(wanted(have.Link, l), have.Link):
		return "differs", fmt.Sprintf("want %+v, have %+v", l, have.Link)
	case !have.up && !l.Down:
		return "differs", "want up, have down"
	}
	return "", ""
}
