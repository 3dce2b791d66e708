package agent

import "github.com/heddle-network/heddle"

// Publishes reports whether ports of the host can lead to a network's containers.
// Containers on the LAN of a parent, or with a NIC of the host, are reached at their own
// address on all ports; the host sees nothing of their traffic.
func (a *Agent) Publishes(n heddle.Network) bool {
	mode, err := a.modes.find(n.Mode)
	_, guest := mode.(heddle.LANMode)
	_, giver := mode.(heddle.NICGiver)
	return err == nil && !guest && !giver
}

// ChoosesMAC reports whether the MAC address of a container on the network can be chosen.
// It cannot be chosen where a NIC of the host is given, or where the mode fixes it.
func (a *Agent) ChoosesMAC(n heddle.Network) bool {
	mode, err := a.modes.find(n.Mode)
	if _, giver := mode.(heddle.NICGiver); err != nil || giver {
		return false
	}
	f, fixed := mode.(heddle.FixedMAC)
	return !fixed || f.MAC(a.host.now(), n) == ""
}

// TryAhead tries a mode before there is a network of it: the call that creates the first
// network has a limited time, and a trial takes a second or more on a busy host. A failure
// is not reported here: the mode is tried again when a network is asked for.
func (a *Agent) TryAhead(mode string) { a.trials.tryAhead(mode) }
