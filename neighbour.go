package heddle

import "net/netip"

// Neighbour is a permanent entry of the neighbour table.
type Neighbour struct {
	Link string     `json:"link"`
	Addr netip.Addr `json:"addr"`
	MAC  MAC        `json:"mac"`
}

func (n Neighbour) Key() string { return "neighbour/" + n.Link + "/" + n.Addr.String() }

func (n Neighbour) comparable() any { return n }
