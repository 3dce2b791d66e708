package kernel

import "github.com/heddle-network/heddle"

// shutLoopback takes the way for 127.0.0.0/8 from links that stay, see
// heddle.LoopbackWay. All other settings stay as they are.
func (r *removal) shutLoopback(all []heddle.Sysctl) {
	for _, c := range all {
		link, is := c.IsLoopbackWay()
		if !is {
			continue
		}
		r.step(r.host, c.Key(), link, func() error {
			live, err := r.host.link(link)
			if err != nil || live == nil || !live.ours() {
				return err
			}
			return r.host.ns.Do(func() error {
				folder := r.host.openSettings()
				defer folder.close()
				return folder.write(c.Name, "0")
			})
		})
	}
}

// ownLoopbackWays lists those of our links that have it.
func (k *Kernel) ownLoopbackWays(s *heddle.State) error {
	here := k.hostSite()
	return here.ns.Do(func() error {
		folder := here.openSettings()
		defer folder.close()
		for _, l := range s.Links {
			c := heddle.Sysctl{Name: heddle.LoopbackWayOf(l.Name), Value: "1"}
			if value, err := folder.read(c.Name); err == nil && value == c.Value {
				s.Sysctls = append(s.Sysctls, c)
			}
		}
		return nil
	})
}
