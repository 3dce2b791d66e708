package kernel

import "github.com/heddle-network/heddle"

// Owned is what bears our mark in a namespace. The marks are the alias (or name and group) of
// interfaces, the protocol of routes and rules, and the table name of nftables objects. The
// loopback setting of our interfaces belongs to it, too (route_localnet, see
// heddle.Sysctl.IsLoopbackWay). Addresses, neighbours and forwarding entries bear no mark; they are
// removed with our interfaces, and are left out.
type Owned struct {
	State heddle.State `json:"state"`
}

// Keys lists the objects' keys.
func (o Owned) Keys() []string {
	var keys []string
	for _, x := range o.State.Objects() {
		keys = append(keys, x.Key())
	}
	return keys
}

// Ours lists everything in this namespace that bears our mark.
func (k *Kernel) Ours() (Owned, error) {
	v := k.inventory()
	for _, kind := range heddle.ObjectKinds {
		if err := kinds[kind.Name].own(v); err != nil {
			return Owned{v.found}, refused("list", "our objects", err)
		}
	}
	return Owned{v.found}, nil
}

// Prune removes the objects that bear our mark, unless wanted reports true for their keys. It
// returns the keys of the objects that it found, also if not all of them could be removed.
func (k *Kernel) Prune(wanted func(key string) bool) (removed []string, err error) {
	o, err := k.Ours()
	if err != nil {
		return nil, err
	}
	left := o.State.Filter(func(x heddle.Object) bool { return !wanted(x.Key()) })
	if left.Empty() {
		return nil, nil
	}
	return Owned{left}.Keys(), k.Remove(heddle.Plan{Host: left}, nil, wanted)
}
