package bench

import "slices"

// Choice limits a probe to some columns: a figure that does not depend on the wire is measured on
// one wire only. An empty list means all.
type Choice struct {
	Probe, Span  string
	Wires, Modes []string
}

func (x Choice) takes(c Column) bool {
	return x.Span == c.Span && (len(x.Modes) == 0 || slices.Contains(x.Modes, c.Mode)) &&
		(x.Span == SameHost || len(x.Wires) == 0 || slices.Contains(x.Wires, wireName(c.Wire)))
}

// runs reports whether a probe runs in a column. A probe that no choice names runs in all
// columns that have what it needs.
func (m Matrix) runs(p Probe, c Column) bool {
	if _, attaches := p.(Attach); attaches && c.Attach == nil {
		return false
	}
	named := false
	for _, x := range m.Choices {
		if x.Probe == p.Name() {
			if named = true; x.takes(c) {
				return true
			}
		}
	}
	return !named
}
