// Package service is what a hypervisor answers machines that ask for NICs: over TLS, to those that have a
// grant. It keeps no record of NICs: which there are is what Ports says, and which are plugged is what the
// machine says. Package nic/remote is the other end.
package service

import (
	"context"
	"net/netip"
	"os"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// Ports makes and removes the switch ports behind NICs. The hypervisor's agent does it. Methods may be called
// at the same time, but not for the same port.
type Ports interface {
	// Make makes a port for an order of the machine, with a TAP for several pairs of queues or for one. What it has begun before an error, it has undone.
	Make(ctx context.Context, machine string, order nic.Order, multiQueue bool) (Port, error)
	// Open opens the port's TAP, once for each pair of queues; just once if it is for one. The caller closes the files. If anybody has it open,
	// that is an error.
	Open(p Port, queues int) ([]*os.File, error)
	// Keep records whose the port is: Machine, Card.Token and Move. All of it, or nothing.
	Keep(ctx context.Context, p Port) error
	// Assign gives the port further addresses until it has that many sets of them, all or none. Unassign takes the set with that address
	// from it. Both return the port as it is then.
	Assign(ctx context.Context, p Port, sets int) (Port, error)
	Unassign(ctx context.Context, p Port, a netip.Addr) (Port, error)
	// Limit has the port pass no more than these limits, seen from who has the NIC, and records what was asked for. All of it, or nothing.
	Limit(ctx context.Context, p Port, asked, limits heddle.RateLimits) error
	// Remove removes the port. One that is not there is no error.
	Remove(ctx context.Context, p Port) error
	// List returns the ports of all machines: all of those of a VPC, or why they cannot be known. It waits for these VPCs as long as ctx says, and
	// for others briefly.
	List(ctx context.Context, vpcs ...string) ([]Port, Unknown)
	// Watches are what watches the ports, each those of a VPC.
	Watches() []Watch
	// There reports whether a TAP exists, also if List does not have its port: it may be unknown, or the record of it be lost.
	There(tap string) (bool, error)
}

// Watch calls begun when it watches, and from then on changed with the machine of each port that is made, changed or removed. gone says
// that the port was removed. It returns why it ends: the context has ended, or it may have missed some.
type Watch func(ctx context.Context, begun func(), changed func(machine string, gone bool)) error

// Unknown says why the ports of a VPC cannot be known, by its name; "" is the host.
type Unknown map[string]error

// in returns why the ports of one of these VPCs cannot be known; nil if they are.
func (u Unknown) in(vpcs ...string) error {
	for _, name := range vpcs {
		if err := u[name]; err != nil {
			return err
		}
	}
	return nil
}

// Machine plugs devices into one machine that runs. Packages nic/qmp and nic/libvirt do it. Methods may be called at the
// same time, but not for the same id.
type Machine interface {
	// Plug plugs a NIC with that MAC address and MTU in. id is the name of its TAP. It gets at most so many pairs of queues, and no more than Queues says;
	// more than one only if the TAP is for several (multiQueue), and then two at least if it is libvirt that opens it. open opens the TAP, for a machine that
	// takes an open one, or to see that nobody has it open; who calls it closes the files. After an error the device may be there.
	Plug(ctx context.Context, id string, mac heddle.MAC, mtu, queues int, multiQueue bool, open func(queues int) ([]*os.File, error)) error
	// Unplug returns when the device is out. One that is not there is no error.
	Unplug(ctx context.Context, id string) error
	// Plugged returns the ids of the devices that Plug has made. Each is the name of a port's TAP.
	Plugged(ctx context.Context) ([]string, error)
	// Slots returns how many places for NICs the machine has, and how many of them are free.
	Slots(ctx context.Context) (all, free int, err error)
	// Queues returns how many pairs of queues a NIC of the machine should have: as many as it has processors, and interrupts for. At least one.
	Queues(ctx context.Context) (int, error)
}

// Machines returns a machine of the configuration by its name. It does not wait for the machine: its methods
// connect to it.
type Machines func(name string) (Machine, error)
