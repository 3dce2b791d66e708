package kernel

import "github.com/heddle-network/heddle"

func (d *differ) redirects(wanted []heddle.Redirect) error {
	live := map[int][]redirectAt{}
	for _, x := range wanted {
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

// redirect compares all filters of the prefix: an old one beside the right one may
// take the packets first.
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
