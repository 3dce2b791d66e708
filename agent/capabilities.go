package agent

import "github.com/heddle-network/heddle"

// Publishes reports whether ports of the host can lead to a network's containers. Containers on a
// parent's LAN or with a NIC of the host are reached directly, on all ports. The host does not see
// their traffic.
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

// TryAhead tries a mode before there is a network of it: the call that creates the first network
// has a time limit, and a trial takes a second or more on a busy host. TryAhead reports no
// failure, because the mode is tried again for the first network.
func (a *Agent) TryAhead(mode string) { a.trials.tryAhead(mode) }
