// Package libvirt plugs NICs into running domains of libvirt, and unplugs them, over libvirt's own protocol. It keeps no record, and
// no connection: what is plugged, and which slots are free, is what the domain's XML says each time (libvirt's
// formatdomain). So a libvirtd that was started again, and a domain that was, are as any other.
package libvirt

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
)

// goodID is what may follow the alias prefix: libvirt takes no other characters in the alias of a user's device.
var goodID = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)

// Domain is a domain of the libvirtd of this host, which may end and start again, as the domain may. Methods may be called at the
// same time. Each ends when its context ends.
type Domain struct{ socket, name string }

// NewDomain returns the domain of that name. socket is the path of libvirtd's socket, or virtqemud's. It does not connect yet.
func NewDomain(socket, name string) *Domain { return &Domain{socket, name} }

// Plug plugs a NIC into the first free slot. id is the name of its TAP, in libvirtd's network namespace: libvirtd opens it, gives it to
// QEMU, and changes neither its addresses nor its state, also not when the NIC goes. The NIC is in the domain that runs, not in its
// configuration. mtu is in bytes; 0 leaves it to the guest. queues is how many pairs of queues it has at most; more than one are for a TAP that was
// made for several (multiQueue), which libvirtd does not open for one: then there are two at least. libvirt refuses a second NIC of that id. After an error the NIC may be
// there. open opens the TAP, and fails if anybody has it open: libvirtd itself opens one for several pairs beside another machine.
func (d *Domain) Plug(ctx context.Context, id string, mac heddle.MAC, mtu, queues int, multiQueue bool, open func(queues int) ([]*os.File, error)) error {
	const op = "plug NIC"
	if err := checkID(op, id); err != nil {
		return err
	}
	if _, err := heddle.ParseMAC(string(mac)); err != nil {
		return err
	}
	if multiQueue {
		taps, err := open(1)
		if err != nil {
			return err
		}
		for _, f := range taps {
			f.Close()
		}
	}
	_, err := on(ctx, d, op, id, func(r *running) (struct{}, error) { return struct{}{}, r.plug(id, mac, mtu, queues, multiQueue) })
	return err
}

func (r *running) plug(id string, mac heddle.MAC, mtu, queues int, multiQueue bool) error {
	now, err := r.describe()
	if err != nil {
		return err
	}
	all, free := now.slots()
	if free == 0 {
		return noSlot(id, all)
	}
	if multiQueue {
		queues = max(2, min(queues, now.queues()))
	}
	text, err := interfaceXML(id, mac, mtu, queues)
	if err != nil {
		return err
	}
	err = r.DomainAttachDeviceFlags(r.domain, text, uint32(golibvirt.DomainAffectLive))
	switch {
	case err == nil:
		return nil
	case noFreeSlot(err): // another program has taken it meanwhile
		return noSlot(id, all)
	case noTAP(err):
		return heddle.Wrap(heddle.MachineRefused, "plug NIC", id, err, "run libvirtd in the network namespace of this host's agent, which makes the TAP device")
	}
	if _, ended := r.describe(); heddle.MachineAway.In(ended) != nil {
		return ended // meanwhile
	}
	return err
}

func noSlot(id string, all int) error {
	cause := "each slot of the domain holds a device"
	if all == 0 {
		cause = "the domain has no slots"
	}
	return heddle.Errorf(heddle.NoSlot, "plug NIC", id, cause,
		"unplug a NIC, or start the domain with more controllers: <controller type='pci' model='pcie-root-port'/>")
}

// Plugged returns the ids of the NICs that were plugged by Plug and are there, sorted.
func (d *Domain) Plugged(ctx context.Context) (ids []string, err error) {
	now, err := on(ctx, d, "list NICs of domain", d.name, (*running).describe)
	return now.ids(), err
}

// Slots returns the number of slots for hot-plugged devices: of all, and of those that are free. A slot is a PCIe root port that
// takes devices while the domain runs. There are at most 32 for each processor.
func (d *Domain) Slots(ctx context.Context) (all, free int, err error) {
	now, err := on(ctx, d, "count slots of domain", d.name, (*running).describe)
	all, free = now.slots()
	return all, free, err
}

// Queues returns how many pairs of queues a NIC of the domain should have, at least one.
func (d *Domain) Queues(ctx context.Context) (int, error) {
	now, err := on(ctx, d, "count processors of domain", d.name, (*running).describe)
	return now.queues(), err
}

// askAgain is how long Unplug waits for the guest before it asks once more. A guest with native PCIe hot-plug takes two
// requests within five seconds for a change of mind. It looks first after firstLook whether the NIC has gone, and then less and less often: each
// look costs libvirtd and us the whole XML.
const askAgain, firstLook, longestPause = 10 * time.Second, 20 * time.Millisecond, 500 * time.Millisecond

// Unplug takes a NIC out. It returns when the guest has let go of it and libvirt has it no more. One that is not there is no error. If
// the guest keeps it until the context ends, the NIC stays, and a further call asks the guest again.
func (d *Domain) Unplug(ctx context.Context, id string) error {
	const op = "unplug NIC"
	if err := checkID(op, id); err != nil {
		return err
	}
	_, err := on(ctx, d, op, id, func(r *running) (struct{}, error) { return struct{}{}, r.unplug(ctx, op, id) })
	return err
}

// unplug asks first, and looks then: libvirt takes the request up after a plug that is under way, and the XML does not show that one's NIC yet.
func (r *running) unplug(ctx context.Context, op, id string) error {
	kept := func() error {
		return heddle.Wrap(heddle.MachineAway, op, id, fmt.Errorf("the guest was asked and has not let go of it: %w", context.Cause(ctx)),
			"look whether the guest runs and supports hot-plug, and try again")
	}
	var seen time.Time // when libvirtd said last that the guest has it
	for asked, pause := (time.Time{}), firstLook; ; pause = min(pause*3/2, longestPause) {
		if time.Since(asked) >= askAgain {
			err := r.DomainDetachDeviceAlias(r.domain, aliasPrefix+id, uint32(golibvirt.DomainAffectLive))
			switch {
			case isGone(err):
				return nil
			case err != nil && !isLeaving(err):
				if _, ended := r.describe(); heddle.MachineAway.In(ended) != nil {
					return ended
				}
				return err
			}
			asked = time.Now()
		}
		now, err := r.describe()
		switch {
		case err != nil && ctx.Err() != nil && time.Since(seen) < 2*longestPause:
			return kept()
		case err != nil:
			return err
		case !slices.Contains(now.ids(), id):
			return nil
		}
		seen = time.Now()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return kept()
		}
	}
}

func checkID(op, id string) error {
	if goodID.MatchString(id) {
		return nil
	}
	return heddle.Errorf(heddle.BadArgument, op, heddle.Clip(id), "libvirt takes no such id", "use 1 to 64 letters, digits, '_', '-'")
}
