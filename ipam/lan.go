package ipam

// LAN is the source of networks whose addresses a DHCP server on the LAN gives out. The agent asks the
// server, and records what it was given with the endpoint; nothing is counted or kept here.
type LAN struct{ None }

// Gives is true: endpoints have addresses.
func (LAN) Gives() bool { return true }
