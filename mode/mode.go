// Package mode lists the modes, each of which is a package below it.
package mode

import (
	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode/bridge"
	"github.com/heddle-network/heddle/mode/direct"
	"github.com/heddle-network/heddle/mode/host"
	"github.com/heddle-network/heddle/mode/ipvlan"
	"github.com/heddle-network/heddle/mode/macvlan"
	"github.com/heddle-network/heddle/mode/overlay"
	"github.com/heddle-network/heddle/mode/routed"
)

// All are the modes of an agent, in the order in which they are listed.
func All() []heddle.Mode {
	return []heddle.Mode{host.Mode{}, bridge.Mode{}, routed.Mode{}, macvlan.Mode{}, ipvlan.Mode{}, direct.Mode{}, overlay.Mode{}}
}
