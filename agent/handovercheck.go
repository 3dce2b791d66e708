package agent

import "github.com/heddle-network/heddle"

// checkHandover refuses what cannot be handed over.
func checkHandover(n *network, req heddle.AttachRequest) error {
	const what = "hand over endpoint"
	switch {
	case req.LinkOnly && (!req.Handover || req.Netns == ""):
		return heddle.Errorf(heddle.BadArgument, what, req.ID.String()+" on network "+n.Name, "the request does not say where its link will be",
			"name the network namespace with --netns: the one that the runtime's configuration has")
	case !req.Handover:
		return nil
	}
	if s, ok := n.mode.(heddle.HostNamespace); ok && !s.NeedsNamespace() {
		return heddle.Errorf(heddle.BadOption, what, req.ID.String()+" on network "+n.Name,
			"in mode "+n.Mode+" a container has no interface of its own that an engine could move",
			"use the engine's own host network")
	}
	if req.LinkOnly && n.FromDHCP() {
		return heddle.Errorf(heddle.BadOption, what, req.ID.String()+" on network "+n.Name,
			"its addresses come from its LAN, where they are asked for when the container is attached, and who moves the link alone comes later",
			"attach the container itself, before it starts ('heddle attach --pid'), or use a network to which heddle gives the addresses")
	}
	_, givesNICs := n.mode.(heddle.NICGiver)
	if givesNICs && n.FromDHCP() {
		return heddle.Errorf(heddle.BadOption, what, req.ID.String()+" on network "+n.Name,
			"an engine wants to know a container's address before, and that of a NIC is asked for where the NIC is by then: in the container",
			"attach the container itself ('heddle attach'), or use a network with a subnet")
	}
	if n.FromRouters() {
		return heddle.Errorf(heddle.BadOption, what, req.ID.String()+" on network "+n.Name,
			"an engine wants to know a container's addresses before, and would not follow routers that advertise others later",
			"attach the container itself ('heddle attach'), or use a network without --opt ipv6")
	}
	if n.plugsOn() != "" && !req.LinkOnly {
		return heddle.Errorf(heddle.BadOption, what, req.ID.String()+" on network "+n.Name,
			"an engine wants to know a container's addresses before, and these come with a NIC that is plugged in", "use another network, or a CNI runtime")
	}
	if !n.pool.Gives() && !req.LinkOnly {
		return heddle.Errorf(heddle.BadOption, what, req.ID.String()+" on network "+n.Name,
			"an engine gives a container the addresses of a subnet, and the network has none",
			"use a network that has a subnet")
	}
	return nil
}
