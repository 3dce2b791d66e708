package heddle

import (
	"net/netip"
	"time"
)

// PeerStatus is another host of the cluster, and the path to it, as this host sees
// them.
type PeerStatus struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	// Underlay is the peer's address at which its tunnel ends; not valid if the
	// two hosts have no IP version in common.
	Underlay netip.Addr `json:"underlay,omitzero"`
	// Path is how packets go there: "vxlan", or "none".
	Path string `json:"path"`
	// State of the path: "up", "silent" (the underlay address does not answer), or
	// "unknown" before the first answer.
	State string    `json:"state"`
	Since time.Time `json:"since,omitzero"`
	// PathMTU is the largest IP packet that the underlay carries there, in bytes; 0
	// before the first answer.
	PathMTU int `json:"pathMTU,omitempty"`
	// RTTSeconds is the smoothed round trip of the underlay.
	RTTSeconds float64 `json:"rttSeconds,omitempty"`
	// Checksums says how inner checksums arrive that are left to the NIC: "good",
	// "spoiled", or "unproven".
	Checksums string `json:"checksums"`
	// Blocks is how many address blocks the peer has.
	Blocks int `json:"blocks"`
	// Store is "alive" while the peer's agent is connected to the store, else
	// "away"; "unknown" if this host's is not.
	Store string `json:"store"`
}
