package kernel

import (
	"errors"
	"fmt"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// soleSubmode refuses an ipvlan device whose parent has ipvlan devices with another sub-mode. The
// sub-mode belongs to the parent, and the kernel would give the new one to all of them
// (ipvlan_link_new in drivers/net/ipvlan/ipvlan_main.c). Devices in other namespaces are not seen
// from here.
func (a *attempt) soleSubmode(l heddle.Link, parent int) error {
	if l.Kind != "ipvlan" {
		return nil
	}
	all, err := a.host.links()
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.kind == "ipvlan" && other.peer == parent && other.name != l.Name && other.submode != submodes[l.SubMode] {
			return heddle.Errorf(heddle.PlanConflict, "make an ipvlan device on", l.Parent,
				fmt.Sprintf("%s stands there in another sub-mode than %s, and the kernel has one for all on a parent", other.name, l.SubMode),
				"remove that device, or take another parent")
		}
	}
	return nil
}

// onParent explains why a device cannot be made on its parent.
func onParent(l heddle.Link, err error) error {
	if l.Parent == "" || !errors.Is(err, unix.EBUSY) {
		return err
	}
	return heddle.Wrap(heddle.PlanConflict, "make a device of kind "+l.Kind+" on", l.Parent, fmt.Errorf(
		"it carries devices of another kind (macvlan and ipvlan exclude each other), or is a port of a bridge or bond: %w", err),
		"take another parent ('ip -d link show' tells what is on this one)")
}
