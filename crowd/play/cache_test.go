package play

import (
	"testing"

	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/tally"
)

// again is a behaviour whose users come back to pages of which some objects are fresh, some are not but are the same, and some
// have changed.
const again = `
  again:
    start: page
    cache:
      pages: 2
      main: {fresh: {quantiles: {0.5: 0s, 1: 600ms}}, changes: {exponential: 700ms}}
      more: {fresh: {uniform: [0s, 400ms]}, changes: {exponential: 700ms}}
    states:
      page: {do: web.page, sends: 300B, receives: 10KB, more: {count: 5, receives: 2KB}, connections: 2, expect: 5ms, think: 100ms, next: {page: 0.9, end: 0.1}}
`

// cached checks that people had from their caches what was planned, and asked for the rest.
func cached(t *testing.T, text string, r tally.Result) {
	t.Helper()
	want, whole := plan.Objects{}, 0
	_, p, starts, _ := planned(t, text)
	for _, at := range starts {
		s, err := p.Session(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range s.Steps {
			want = want.Plus(step.Objects())
			if step.Cache != nil && len(step.Receives) == 0 {
				whole++
			}
		}
	}
	if got := plan.Objects(r.Caches["again"]); got != want || want.Fresh == 0 || want.Unchanged == 0 || want.Changed == 0 || want.New == 0 || whole == 0 {
		t.Errorf("the caches had %+v, and %+v was planned, %d whole pages", got, want, whole)
	}
}
