package tally

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// count counts what somebody drawn does.
func count(t *Tally, r *rand.Rand) {
	wait := time.Duration(r.ExpFloat64() * float64(time.Second)).Truncate(time.Microsecond)
	t.Intend("browse", 1)
	t.Begin("browse", wait)
	t.End("browse", []Outcome{Achieved, Failed, GivenUp, Unfinished}[r.IntN(4)])
	t.Step([]string{"web.page", "domain.ticket"}[r.IntN(2)], []Outcome{Achieved, Achieved, Failed, GivenUp, Unfinished}[r.IntN(5)], wait, wait/2)
	t.Lag(wait / 100)
	t.Paced(wait / 200)
	t.Frame(wait / 300)
	t.Failure([]string{"refused", "broken"}[r.IntN(2)])
	t.Call(90*r.Float64(), 1+3*r.Float64(), 0.25) // quarters add up in any order
	t.Page("browse", Objects{Fresh: 1, New: int64(r.IntN(9)), Got: 100})
	t.Video(wait, r.IntN(3), wait/4, wait)
	if r.IntN(5) == 0 {
		t.NoVideo()
	}
}

// TestAdd: the sum of several tallies is the tally of all, also where one has many more than the others: quantiles are not averaged.
func TestAdd(t *testing.T) {
	all, sum := New(nil), New(nil)
	for part, n := range []int{10, 300, 45, 0} {
		one, seed := New(nil), uint64(part)
		for of, r := range map[*Tally]*rand.Rand{all: rand.New(rand.NewPCG(1, seed)), one: rand.New(rand.NewPCG(1, seed))} {
			for range n {
				count(of, r)
			}
		}
		sheet, err := one.Sheet()
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(sheet) // it is in a file
		if err != nil {
			t.Fatal(err)
		}
		var read Sheet
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		if err := sum.Add(read); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := sum.Result(), all.Result(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nis not\n%+v", got, want)
	}
	if r := sum.Result(); r.Calls.Count != 355 || r.Actions["web.page"].Count == 0 || r.Videos.Never == 0 {
		t.Errorf("nothing was counted: %+v", r)
	}
}

// TestAddNonsense: what is no histogram is refused.
func TestAddNonsense(t *testing.T) {
	sheet, err := New(nil).Sheet()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []Counts{"", "nonsense", sheet.Lag.Counts[:len(sheet.Lag.Counts)/2]} {
		s := sheet
		s.Frames.Counts = bad
		if err := New(nil).Add(s); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
