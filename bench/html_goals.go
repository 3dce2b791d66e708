package bench

// GoalsTitle names the placement, on which every goal depends.
func (v *view) GoalsTitle() string { return goalsTitle(v.Method.Placement) }

// GoalsLegend says how to read the table.
func (v *view) GoalsLegend() string { return goalsLegend }
