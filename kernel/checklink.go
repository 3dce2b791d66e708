package kernel

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

// explainExists finds out why the kernel says that the link exists. Either the link exists, and
// settle will judge it, or the name of its far end is taken.
func (a *attempt) explainExists(s *session, l heddle.Link, farSide string) error {
	live, err := s.link(l.Name)
	switch {
	case err != nil || live != nil:
		return err
	case farSide == "pod/":
		return heddle.Errorf(heddle.IfNameTaken, "make interface", l.Peer, "the container has an interface of that name", "choose another name with --ifname")
	case l.PeerNetns != "":
		return heddle.Errorf(heddle.KernelRefused, "make interface", l.Peer, "an interface in "+l.PeerNetns+" has the name, and is not the other end", "remove it there")
	case l.Kind == "vxlan":
		return heddle.Errorf(heddle.KernelRefused, "make tunnel device", l.Name,
			fmt.Sprintf("another VXLAN device has VNI %d on port %d", l.Tunnel.VNI, l.Tunnel.Port),
			"remove it ('ip -d link show type vxlan' lists such devices), or give heddled another --tunnel-port")
	}
	return heddle.Errorf(heddle.KernelRefused, "make interface", l.Peer, "an interface that is not heddle's has the name", "rename or remove it")
}

// checkOwned refuses a link that is not ours, or that cannot be changed to what is wanted. One that another agent has made, for
// both, bears no mark yet.
func (a *attempt) checkOwned(s *session, l heddle.Link, live *linkState) (linkState, error) {
	if live == nil && l.MadeElsewhere {
		return linkState{}, heddle.Errorf(heddle.KernelRefused, "find interface", l.Name, "the host's agent has not made it", "start the host's agent ('systemctl start heddled'), and look at its status")
	}
	if live == nil {
		return linkState{}, heddle.Errorf(heddle.KernelRefused, "find interface", l.Name,
			"the other end of its veth pair is there, but this end was moved or renamed", "detach and attach again")
	}
	mine := live.ours() || a.pairedWith(s, l, live) || (l.PeerNetns != "" || l.MadeElsewhere) && live.kind == l.Kind && live.alias == ""
	switch {
	case live.alias != "" && !heddle.SameOwner(live.alias, l.Alias), !mine:
		code := heddle.KernelRefused
		if s.pod {
			code = heddle.IfNameTaken
		}
		return linkState{}, heddle.Errorf(code, "take over interface", l.Name, fmt.Sprintf("it is not heddle's (alias %q)", live.alias),
			"rename or remove it, or choose another name")
	case live.kind != l.Kind:
		return linkState{}, heddle.Errorf(heddle.KernelRefused, "take over interface", l.Name,
			fmt.Sprintf("it is of kind %q and should be of kind %q", live.kind, l.Kind), "remove it")
	}
	return *live, nil
}

// pairedWith reports whether an interface is the far end of a near end of ours. So the far end is
// recognised as ours before it has its alias.
func (a *attempt) pairedWith(s *session, l heddle.Link, live *linkState) bool {
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
