package heddle

import "net/netip"

// Forward is a static entry of a forwarding table. Without Dst, frames to MAC leave by
// the bridge port Link. With Dst, they go through the VXLAN device Link to the tunnel
// endpoint Dst.
type Forward struct {
	Link string     `json:"link"`
	MAC  MAC        `json:"mac"`
	Dst  netip.Addr `json:"dst,omitzero"`
}

func (f Forward) Key() string { return "forward/" + f.Link + "/" + string(f.MAC) }

func (f Forward) comparable() any { return f }
