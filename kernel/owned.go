package kernel

import "github.com/heddle-network/heddle"

// Owned is what a namespace has that bears our mark: interfaces by alias (or name and
// group), routes and rules by protocol, nftables objects by the name of their table, and the
// loopback setting of our interfaces (route_localnet, see heddle.Sysctl.IsLoopbackWay).
// Addresses, neighbours and forwarding entries bear no mark: they go with our interfaces,
// and are left out.
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

// Prune removes what bears our mark and for which wanted does not report true;
// it is asked by key. The keys of what it found are returned, also if not all
// of it could be removed.
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
