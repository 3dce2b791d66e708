package bench

// publishedPage is the part of the page with what a preset's source printed.
type publishedPage struct {
	Published
	Lines    []publishedLine
	Interval bool // one round has none
	// Ran is how many lines have a ratio of ours.
	Ran int
}

func (v *view) published() *publishedPage {
	p, ok := PublishedFigures(v.Method.Preset)
	if !ok {
		return nil
	}
	out := &publishedPage{Published: p, Lines: v.beside(p), Interval: v.Method.Rounds > 1}
	for _, l := range out.Lines {
		if l.Same != "" {
			out.Ran++
		}
	}
	return out
}
