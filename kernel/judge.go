package kernel

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

// judge refuses links that are not ours, or cannot become what is wanted.
func (a *attempt) judge(s *site, l heddle.Link, live *linkState) (linkState, error) {
	if live == nil {
		return linkState{}, heddle.Errorf(heddle.KernelRefused, "find the far end", l.Name, "its pair is there but the far end was moved or renamed; detach and attach again")
	}
	mine := live.ours() || a.pairedWith(s, l, live)
	switch {
	case live.alias != "" && live.alias != l.Alias, !mine:
		code := heddle.KernelRefused
		if s.pod {
			code = heddle.IfNameTaken
		}
		return linkState{}, heddle.Errorf(code, "take over interface", l.Name, fmt.Sprintf("it is not ours (alias %q); rename or remove it, or choose another name", live.alias))
	case live.kind != l.Kind:
		return linkState{}, heddle.Errorf(heddle.KernelRefused, "take over interface", l.Name, fmt.Sprintf("it is of kind %q and should be %q; remove it", live.kind, l.Kind))
	}
	return *live, nil
}

// pairedWith reports whether an interface is the far end of a near end of ours:
// so it is known for ours before it has its alias.
func (a *attempt) pairedWith(s *site, l heddle.Link, live *linkState) bool {
	if l.Peer != "" || live.kind != "veth" {
		return false
	}
	for _, near := range a.plan.Host.Links {
		if near.Peer == l.Name && near.PeerInPod == s.pod {
			index, err := a.host.ifindex(near.Name)
			return err == nil && index == live.peer
		}
	}
	return false
}
