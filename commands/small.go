package commands

import "github.com/heddle-network/heddle"

// withoutSmallIPv6 leaves out what is about the IPv6 of links below 1280 bytes, on which the
// kernel has none: there the commands would fail.
func withoutSmallIPv6(s heddle.State) heddle.State {
	small := map[string]bool{}
	var links []heddle.Link
	for _, l := range s.Links {
		if l.MTU != 0 && l.MTU < heddle.IPv6.LeastMTU() {
			small[l.Name], l.NoAutoAddress = true, false
		}
		links = append(links, l)
	}
	s.Links = links
	return s.Filter(func(o heddle.Object) bool {
		c, is := o.(heddle.Sysctl)
		if !is {
			return true
		}
		link, is := c.IPv6Link()
		return !is || !small[link]
	})
}
