package heddle

// Delta is what leads from one state to another: add is what new wants and old
// lacks or wants differently, gone is what old wants under keys that new does not
// have. Both keep their state's order. Applying add and then removing gone
// replaces a state that grows with the cluster at the cost of what has changed.
func Delta(old, new State) (add, gone State) {
	had, wanted := byKey(old), byKey(new)
	add = new.Filter(func(x Object) bool {
		was, there := had[x.Key()]
		return !there || !Same(was, x)
	})
	gone = old.Filter(func(x Object) bool {
		_, stays := wanted[x.Key()]
		return !stays
	})
	return add, gone
}

func byKey(s State) map[string]Object {
	all := map[string]Object{}
	for _, x := range s.Objects() {
		all[x.Key()] = x
	}
	return all
}
