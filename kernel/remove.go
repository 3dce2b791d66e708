package kernel

import (
	"errors"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// removal is one call of Remove.
type removal struct {
	k         *Kernel
	host, pod *site
	keep      func(key string) bool
	// dying holds the links, by side and name, that this call deletes; what
	// lies on them goes with them.
	dying map[string]bool
	// far holds those of them that are far ends and need no request.
	far map[string]bool
	err error
	// tripped says that the tripwire stopped the work.
	tripped bool
}

// Remove takes the plan's objects away in the reverse order of Apply. What is
// gone already counts as removed; pod is nil if the container's namespace is
// gone. Objects for which wanted reports true stay, because other plans name
// them, and so do settings, but for heddle.LoopbackWay, and links that are not ours. One refusal does not
// keep the rest from being removed; all are returned.
func (k *Kernel) Remove(p heddle.Plan, pod *Netns, wanted func(key string) bool) error {
	inside, err := podSite(pod)
	if err != nil {
		return err
	}
	defer inside.close()
	if wanted == nil {
		wanted = func(string) bool { return false }
	}
	r := &removal{k: k, host: k.hostSite(), pod: inside, keep: wanted, dying: map[string]bool{}, far: map[string]bool{}}
	p = k.feasible(p)
	r.findDying(p)
	r.fastPath(p.Host)
	r.layer3(r.pod, p.Pod)
	r.layer3(r.host, p.Host)
	r.elements(p.Host.Elements)
	r.shutLoopback(p.Host.Sysctls)
	r.nics(p.Pod.NICs)
	r.links(r.pod, p.Pod.Links)
	r.links(r.host, p.Host.Links)
	r.firewall(p.Host.Firewall)
	return r.err
}

// findDying notes the near ends that go, and the far ends that go with them.
func (r *removal) findDying(p heddle.Plan) {
	for _, l := range p.Pod.Links {
		if l.Parent != "" {
			r.dying["pod/"+l.Name] = true
		}
	}
	for _, n := range p.Pod.NICs {
		r.dying["pod/"+n.IfName] = true // it leaves, and loses what lies on it
	}
	for _, l := range p.Host.Links {
		if l.Kind == "" || r.keep(l.Key()) {
			continue
		}
		r.dying["host/"+l.Name] = true
		if l.Peer != "" && l.PeerInPod {
			r.dying["pod/"+l.Peer], r.far["pod/"+l.Peer] = true, true
		} else if l.Peer != "" {
			r.dying["host/"+l.Peer], r.far["host/"+l.Peer] = true, true
		}
	}
}

// step removes one object unless it is wanted, goes with its link, or the
// tripwire has stopped the work.
func (r *removal) step(s *site, key, link string, do func() error) {
	if s == nil || r.tripped || r.keep(key) || link != "" && r.dying[s.side()+link] {
		return
	}
	r.do(key, do)
}

func (r *removal) do(key string, do func() error) {
	if err := r.k.trip("remove", key); err != nil {
		r.tripped = true
		r.err = errors.Join(r.err, err)
		return
	}
	if err := do(); err != nil && !absent(err) {
		r.err = errors.Join(r.err, refused("remove", key, err))
	}
}

func (r *removal) layer3(s *site, p heddle.State) {
	for _, x := range slices.Backward(p.Redirects) {
		r.step(s, x.Key(), "", func() error { return s.deleteRedirect(x) })
	}
	for _, x := range slices.Backward(p.Rules) {
		r.step(s, x.Key(), "", func() error { return s.rt.execute(ruleRequest(unix.RTM_DELRULE, 0, x)) })
	}
	for _, x := range slices.Backward(p.Routes) {
		r.step(s, x.Key(), x.Link, func() error {
			at, err := s.at(x)
			if err != nil {
				return err
			}
			return s.rt.execute(routeRequest(unix.RTM_DELROUTE, 0, at))
		})
	}
	for _, x := range slices.Backward(p.Neighbours) {
		r.step(s, x.Key(), x.Link, func() error { return s.deleteNeighbour(x) })
	}
	for _, x := range slices.Backward(p.Addresses) {
		r.step(s, x.Key(), x.Link, func() error { return s.deleteAddress(x) })
	}
	for _, x := range slices.Backward(p.Forwards) {
		r.step(s, x.Key(), x.Link, func() error { return s.deleteForward(x) })
	}
}

// elements go in one transaction each batch.
func (r *removal) elements(all []heddle.Element) {
	wanted := func(e heddle.Element) bool { return r.keep(e.Key()) }
	for some := range slices.Chunk(slices.DeleteFunc(once(all), wanted), batchSize) {
		if r.tripped {
			return
		}
		r.do(batchKey(some), func() error {
			r.k.frame.Lock()
			defer r.k.frame.Unlock()
			return r.host.nft.deleteElements(slices.DeleteFunc(some, wanted)) // asked anew, as for the firewall
		})
	}
}

// deleteTries bounds how often a batch is put together anew because somebody else
// took an element out of it meanwhile.
const deleteTries = 4

// deleteElements takes elements out of our sets, in one transaction. The kernel
// takes none if one of them is not there: then those that are there are looked for.
func (c *conn) deleteElements(some []heddle.Element) error {
	members := make([]member, len(some))
	for i, e := range some {
		m, err := newMember(e)
		if err != nil {
			return err
		}
		members[i] = m
	}
	var err error
	for try := range deleteTries {
		live := contents{c: c}
		var reqs []*nl.NetlinkRequest
		for _, m := range members {
			there, err := live.has(m, try > 0)
			if err != nil {
				return err
			}
			if there {
				reqs = append(reqs, m.request(unix.NFT_MSG_DELSETELEM, 0))
			}
		}
		if err = c.batch(reqs...); !absent(err) {
			return err
		}
	}
	return err
}

func (r *removal) links(s *site, all []heddle.Link) {
	for _, l := range slices.Backward(all) {
		if s == nil || r.tripped || l.Kind == "" || r.keep(l.Key()) || r.far[s.side()+l.Name] {
			continue
		}
		r.do(l.Key(), func() error {
			live, err := s.link(l.Name)
			if err == nil && live == nil && s.pod && l.Parent != "" {
				live, err = s.link(heddle.BirthName(l)) // a crash kept it from its name
			}
			if err != nil || live == nil || !live.ours() || l.Alias != "" && live.alias != "" && !heddle.SameOwner(live.alias, l.Alias) {
				return err
			}
			return s.delete(live.index)
		})
	}
}

func (r *removal) firewall(all []heddle.Firewall) {
	unwanted := func() (some []heddle.Firewall) {
		for _, f := range all {
			if !r.keep(f.Key()) {
				some = append(some, f)
			}
		}
		return some
	}
	if len(unwanted()) == 0 || r.tripped {
		return
	}
	r.do("firewall", func() error {
		r.k.frame.Lock()
		defer r.k.frame.Unlock()
		return r.host.removeFirewall(unwanted()) // asked anew: who wants it said so before he made it
	})
}
