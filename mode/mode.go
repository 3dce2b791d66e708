// Package mode lists the modes, each of which is a package below it.
package mode

import (
	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode/bridge"
	"github.com/heddle-network/heddle/mode/direct"
	"github.com/heddle-network/heddle/mode/gateway"
	"github.com/heddle-network/heddle/mode/host"
	"github.com/heddle-network/heddle/mode/ipvlan"
	"github.com/heddle-network/heddle/mode/macvlan"
	"github.com/heddle-network/heddle/mode/overlay"
	"github.com/heddle-network/heddle/mode/routed"
)

// All are the modes that a user chooses from, in the order in which they are listed.
func All() []heddle.Mode {
	return []heddle.Mode{host.Mode{}, bridge.Mode{}, routed.Mode{}, macvlan.Mode{}, ipvlan.Mode{}, direct.Mode{}, overlay.Mode{}}
}

// OfHost are the modes of a host's own agent: all, and that of the ways out of VPCs, whose networks 'heddle vpc route' makes.
func OfHost() []heddle.Mode { return append(All(), gateway.OfHost{}) }
