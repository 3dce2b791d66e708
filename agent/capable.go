package agent

import "github.com/heddle-network/heddle"

// Publishes reports whether ports of the host can lead to a network's containers.
// Those on the LAN of a parent, and those with a NIC of the host's, have all their
// ports at their own address; the host sees nothing of their traffic.
func (a *Agent) Publishes(n heddle.Network) bool {
	mode, err := a.modes.find(n.Mode)
	_, guest := mode.(heddle.Guest)
	_, giver := mode.(heddle.NICGiver)
	return err == nil && !guest && !giver
}

// ChoosesMAC reports whether a container on the network has a MAC address that can
// be chosen: not that of a NIC of the host's.
func (a *Agent) ChoosesMAC(n heddle.Network) bool {
	mode, err := a.modes.find(n.Mode)
	if _, giver := mode.(heddle.NICGiver); err != nil || giver {
		return false
	}
	f, fixed := mode.(heddle.FixedMAC)
	return !fixed || f.MAC(a.host.now(), n) == ""
}

// TryAhead tries a mode before there is a network of it: whoever creates the first
// has a bounded time, and a trial takes a second or more on a busy host. A failure is
// for the one who asks for a network to hear.
func (a *Agent) TryAhead(mode string) { a.trials.ahead(mode) }
