package bench

// groupsOf are the cells of a probe by size, pairs and wire, in the report's order:
// those of a group, of all modes and spans, stand in one table.
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

// byCell are the results of the report's cells.
func (r *Report) byCell() map[Cell]CellResult {
	all := map[Cell]CellResult{}
	for _, c := range r.Cells {
		all[c.Cell] = c
	}
	return all
}
