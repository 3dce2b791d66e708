package protocol

import (
	"maps"
	"slices"

	"github.com/heddle-network/heddle/crowd/scenario"
)

// Parted is a protocol that leaves some of what is done with a service to others, each at a port of its own.
type Parted interface {
	Protocol
	// Others are those, by what is done.
	Others() map[scenario.Action]Protocol
}

// For is the protocol for what is done with a service.
func For(p Protocol, does scenario.Action) Protocol {
	if parted, is := p.(Parted); is {
		if other, has := parted.Others()[does]; has {
			return other
		}
	}
	return p
}

// All lists a protocol, and those to which it leaves something.
func All(p Protocol) []Protocol {
	all := []Protocol{p}
	if parted, is := p.(Parted); is {
		others := parted.Others()
		for _, does := range slices.Sorted(maps.Keys(others)) {
			all = append(all, others[does])
		}
	}
	return all
}
