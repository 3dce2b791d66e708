package contract_test

import (
	"errors"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// ended: a container that ends takes all with it that is in it, and the far ends.
func ended(r *room, s scene) {
	p := s.endpoint(0)
	r.apply(s.network, nil)
	before := r.ours()
	r.apply(p, r.pods[0])
	r.end(0)
	r.note("gone", r.differs(heddle.Plan{Host: p.Host}, nil)...)
	cell.Must(r.t, r.Remove(p, nil, has(s.network)))
	if now := r.ours(); !slices.Equal(now, before) {
		r.t.Fatalf("left %v, before %v", now, before)
	}
	r.apply(p, r.pods[1])
	r.clean(p, r.pods[1])
}

// lacking: what lacks what it stands on is refused.
func lacking(r *room, s scene) {
	alias := heddle.Mark + " test"
	for name, h := range map[string]heddle.State{
		"address":   {Addresses: []heddle.Address{{Link: "none", Prefix: s.prefix}}},
		"neighbour": {Neighbours: []heddle.Neighbour{{Link: "none", Addr: s.prefix.Addr(), MAC: "0a:00:00:00:00:01"}}},
		"forward":   {Forwards: []heddle.Forward{{Link: "none", MAC: "0a:00:00:00:00:01"}}},
		"route":     {Routes: []heddle.Route{{Link: "none", Dst: s.prefix.Masked()}}},
		"element":   {Elements: []heddle.Element{{Family: "inet", Set: "allowed", Match: []string{"0x68000001", "0x68000002"}}}},
		"port":      {Links: []heddle.Link{{Name: "hb0123456789", Kind: "veth", Peer: "hb01234567xx", Master: "none", Alias: alias}}},
		"device":    {Links: []heddle.Link{{Name: "hm0123456789", Kind: "macvlan", Parent: "none", SubMode: "bridge", Alias: alias}}},
		"setting":   {Sysctls: []heddle.Sysctl{{Name: "net/ipv4/conf/none/rp_filter", Value: "2"}}},
		"loopback":  {Links: []heddle.Link{{Name: "none"}}},
	} {
		made, err := r.Apply(heddle.Plan{Host: h}, nil)
		if err == nil || len(made) > 0 {
			r.t.Errorf("%s: made %v, %v", name, made, err)
		}
		r.note(name, codeOf(err))
	}
	slices.Sort(r.notes)
	if _, err := r.Apply(s.endpoint(0), nil); heddle.BadNamespace.In(err) == nil {
		r.t.Errorf("without a container: %v", err)
	}
	r.nothing()
}

// misplaced: what its kind cannot have there is refused, before anything is touched.
func misplaced(r *room, s scene) {
	for _, p := range []heddle.Plan{
		{Pod: heddle.State{Firewall: []heddle.Firewall{{Family: "inet", Kind: "table"}}}},
		{Pod: heddle.State{Programs: []heddle.Program{{Link: "lo"}}}},
		{Host: heddle.State{NICs: []heddle.NIC{{Name: "up0"}}}},
	} {
		p.Host.Links = []heddle.Link{{Name: "hb0123456789", Kind: "bridge", Alias: heddle.Mark + " test"}}
		made, errApply := r.Apply(p, r.pods[0])
		_, errDiff := r.Diff(p, r.pods[0])
		for _, err := range []error{errApply, errDiff, r.Remove(p, r.pods[0], nil)} {
			if heddle.KernelRefused.In(err) == nil || made != nil {
				r.t.Errorf("%v: made %v, %v", p.Misplaced(), made, err)
			}
		}
	}
	r.nothing()
}

// strangers: a name that is another's is refused, and the other is left alone.
func strangers(r *room, s scene) {
	p := s.endpoint(0)
	others := s.endpoint(0)
	for i := range others.Host.Links {
		if l := others.Host.Links[i]; l.PeerInPod || l.Kind == "ifb" {
			others.Host.Links[i].Alias += "-of-another"
		}
	}
	for i := range others.Pod.Links {
		others.Pod.Links[i].Alias += "-of-another"
	}
	r.apply(s.network, nil)
	r.apply(others, r.pods[0])
	_, err := r.Apply(p, r.pods[0])
	r.note("refused", codeOf(err))
	r.clean(others, r.pods[0])
	cell.Must(r.t, r.Remove(heddle.Plan{Pod: heddle.State{Links: p.Pod.Links}, Host: heddle.State{Links: p.Host.Links}}, r.pods[0], has(s.network)))
	r.clean(others, r.pods[0])
}

// mended: one object that is refused keeps no other from being made.
func mended(r *room, s scene) {
	h := s.network.Host
	h.Addresses = append([]heddle.Address{{Link: "none", Prefix: s.prefix}}, h.Addresses...)
	h.Elements = append([]heddle.Element{{Family: "inet", Set: "none", Match: []string{"0x68000001", "0x68000002"}}}, h.Elements...)
	if made, err := r.Apply(heddle.Plan{Host: h}, nil); err == nil || len(made) > 0 {
		r.t.Fatalf("made %v, %v", made, err)
	}
	r.nothing()
	made, err := r.Mend(h)
	r.sorted("made", made)
	if err == nil || !strings.Contains(err.Error(), "none") {
		r.t.Errorf("of what is refused is told: %v", err)
	}
	r.clean(s.network, nil)
	if made, err := r.Mend(h); err == nil || len(made) > 0 {
		r.t.Errorf("again made %v, %v", made, err)
	}
}

// pruned: what bears our mark and nobody wants goes, and nothing else.
func pruned(r *room, s scene) {
	one, two := s.endpoint(0), s.endpoint(1)
	r.apply(s.network, nil)
	r.apply(one, r.pods[0])
	r.apply(two, r.pods[1])
	gone, err := r.Prune(func(key string) bool { return has(s.network)(key) || has(one)(key) })
	cell.Must(r.t, err)
	r.sorted("pruned", gone)
	r.clean(s.network, nil)
	r.clean(one, r.pods[0])
	_, err = r.Prune(func(string) bool { return false })
	cell.Must(r.t, err)
	r.nothing()
}

// kept: an Apply that fails leaves what another plan has come to want.
func kept(r *room, s scene) {
	p := s.endpoint(0)
	r.apply(s.network, nil)
	others := map[string]bool{}
	r.wanted(func(key string) int {
		if others[key] {
			return 2
		}
		return 1
	})
	r.tripwire(func(step string) error {
		for _, o := range p.Host.Objects() {
			if l, is := o.(heddle.Link); !is || l.PeerInPod {
				others[o.Key()] = true
			}
		}
		if strings.HasPrefix(step, "raise") {
			return errInjected
		}
		return nil
	})
	if _, err := r.Apply(p, r.pods[0]); !errors.Is(err, errInjected) {
		r.t.Fatal(err)
	}
	r.tripwire(nil)
	r.wanted(nil)
	r.note("lacks", r.differs(p, r.pods[0])...)
}
