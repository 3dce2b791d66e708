package bench

// groupsOf groups the cells of a probe by size, pairs and wire, in the report's order. One table
// shows a group, with all modes and spans.
func (r *Report) groupsOf(probe string) [][]CellResult {
	var keys []Cell
	groups := map[Cell][]CellResult{}
	for _, c := range r.Cells {
		if c.Probe != probe {
			continue
		}
		key := c.Cell
		key.Mode, key.Span = "", ""
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], c)
	}
	var all [][]CellResult
	for _, k := range keys {
		all = append(all, groups[k])
	}
	return all
}

// byCell returns the report's results by cell.
func (r *Report) byCell() map[Cell]CellResult {
	all := map[Cell]CellResult{}
	for _, c := range r.Cells {
		all[c.Cell] = c
	}
	return all
}
