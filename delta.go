package heddle

// Delta is what leads from one wanted state to another: add holds the objects of
// next that old lacks or wants differently, gone those of old that next does not
// have at all.
func Delta(old, next State) (add, gone State) {
	had, has := byKey(old), byKey(next)
	add = next.Filter(func(o Object) bool {
		before, known := had[o.Key()]
		return !known || !Same(before, o)
	})
	gone = old.Filter(func(o Object) bool { return has[o.Key()] == nil })
	return add, gone
}

func byKey(s State) map[string]Object {
	all := map[string]Object{}
	for _, o := range s.Objects() {
		all[o.Key()] = o
	}
	return all
}
