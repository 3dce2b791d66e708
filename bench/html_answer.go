package bench

import (
	"cmp"
	"html/template"
	"slices"
)

// opening is the page's answer, and the picture to it.
type opening struct {
	Sentence string
	Panels   []panel
	Grid     template.HTML
	Axis     template.HTML
	// Interval is false for a single round, which has none.
	Interval bool
}

// panel shows the modes of one span, the best first.
type panel struct {
	Title string
	Rows  []panelRow
}

type panelRow struct {
	Mode  string
	Index int
	Plot  template.HTML
	Score string
}

func (v *view) opening() opening {
	spans, scores := []string{Across, SameHost}, map[string][]score{}
	var ends []float64
	for _, span := range spans {
		scores[span] = v.scores(span)
		for _, s := range scores[span] {
			ends = append(ends, s.Low, s.High)
		}
	}
	o := opening{Sentence: answer(spans, scores), Interval: v.Method.Rounds > 1}
	if v.emulated() {
		o.Sentence = "This processor was emulated: everything works, and no figure says anything about speed."
	}
	limits := ratioScale(ends)
	o.Grid, o.Axis = limits.grid("answer", true), limits.axis()
	for _, span := range spans {
		if p := v.panel(span, scores[span], limits); len(p.Rows) > 0 {
			o.Panels = append(o.Panels, p)
		}
	}
	return o
}

func (v *view) panel(span string, scores []score, limits scale) panel {
	p := panel{Title: placeText(span)}
	slices.SortStableFunc(scores, func(a, b score) int { return cmp.Compare(b.Median, a.Median) })
	for _, s := range scores {
		text := number(s.Median) + " × host" + intervalWords(s.Ratio)
		p.Rows = append(p.Rows, panelRow{s.Mode, v.index(s.Mode) % shapes, limits.row(interval{
			grid: "answer", name: s.Mode + " " + placeText(span), text: text, mode: v.index(s.Mode), dot: s.Median, wideLow: s.Low, wideHigh: s.High,
		}), number(s.Median)})
	}
	return p
}

// scores are those of the modes that could be chosen, on one span.
func (v *view) scores(span string) []score {
	var modes []string
	for _, m := range v.modes {
		if m != Control && m != Native && slices.ContainsFunc(v.Cells, func(c CellResult) bool {
			_, ok := v.standing(c.Cell)
			return ok && c.Mode == m && c.Span == span
		}) {
			modes = append(modes, m)
		}
	}
	cells := slices.DeleteFunc(v.situations(), func(c Cell) bool {
		return c.Span != span || slices.ContainsFunc(modes, func(m string) bool {
			_, ok := v.standing(withMode(c, m))
			return !ok
		})
	})
	var all []score
	for _, m := range modes {
		if r, ok := v.score(cells, m); ok {
			all = append(all, score{m, r})
		}
	}
	return all
}

// score is a mode's score over situations, from the rounds in which it has all readings.
func (v *view) score(cells []Cell, mode string) (Ratio, bool) {
	var rounds []float64
	for round := range v.Method.WarmupRounds + v.Method.Rounds {
		if s, ok := v.roundScore(cells, mode, round); ok {
			rounds = append(rounds, s)
		}
	}
	if len(rounds) == 0 {
		return Ratio{}, false
	}
	low, high := bootstrap(rounds, v.Method.Seed)
	return Ratio{len(rounds), Median(rounds), low, high}, true
}

func (v *view) roundScore(cells []Cell, mode string, round int) (float64, bool) {
	byProbe := map[string][]float64{}
	for _, c := range cells {
		f := v.headline(c)
		x, y := v.readings[withMode(c, mode)][f.Name][round], v.readings[withMode(c, Control)][f.Name][round]
		if f.Better == LowerIsBetter {
			x, y = y, x
		}
		if x <= 0 || y <= 0 {
			return 0, false
		}
		byProbe[c.Probe] = append(byProbe[c.Probe], x/y)
	}
	var means []float64
	for _, p := range sortedKeys(byProbe) {
		means = append(means, geometricMean(byProbe[p]))
	}
	return geometricMean(means), len(means) > 0
}
