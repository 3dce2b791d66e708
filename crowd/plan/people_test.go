package plan_test

import (
	"math"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// sessions are those of all users.
func sessions(t *testing.T, s scenario.Scenario) (all []plan.Session) {
	p := plan.New(s, nil)
	for user := 1; user <= s.Users; user++ {
		all = append(all, diary(t, p, user).Sessions...)
	}
	return all
}

const working = `
crowd: working
seed: 5
users: 2000
clock: {start: "Fri 00:00", length: 2h, day: {compress: 24}}
personas:
  clerk:
    share: 100%
    schedule:
      days: mon-fri
      hours: 08:00-18:00
      lunch: 12:00-13:00
      curve: {"08:00": 50%, "12:00": 100%, "14:00": 100%, "18:00": 20%}
    does: {print: 30/h}
`

// TestSchedule: sessions come as often as the day's curve says, on days and in hours when people are there.
func TestSchedule(t *testing.T) {
	count := map[int]float64{} // sessions of each hour of the first day; a day is an hour long
	for _, s := range sessions(t, parse(t, working)) {
		if s.Start >= time.Hour {
			t.Fatalf("user %d begins a session at %v, on a Saturday", s.User, s.Start)
		}
		count[int(s.Start*24/time.Hour)]++
	}
	for hour, share := range map[int]float64{7: 0, 8: 0.5625, 11: 0.9375, 12: 0, 13: 1, 14: 0.9, 17: 0.3, 18: 0} {
		// 30 an hour, 2000 users, 2.5 minutes; five standard deviations are allowed.
		if want := 2000 * 30 / 24.0 * share; math.Abs(count[hour]-want) > 5*math.Sqrt(want) {
			t.Errorf("%v sessions from %d to %d h, expected %v", count[hour], hour, hour+1, want)
		}
	}
}

// TestPoisson: the number of a user's sessions has the variance of a Poisson process, which is its mean, and the
// gaps between them are exponential.
func TestPoisson(t *testing.T) {
	s := parse(t, `
crowd: steady
users: 4000
clock: {start: "Mon 10:00", length: 1h}
personas: {only: {share: 1, does: {print: 9/h}}}
`)
	p, sum, squares, gaps, longer := plan.New(s, nil), 0.0, 0.0, 0.0, 0.0
	for user := 1; user <= s.Users; user++ {
		all := diary(t, p, user).Sessions
		n := float64(len(all))
		sum, squares = sum+n, squares+n*n
		for i, one := range all[:max(0, len(all)-1)] {
			if one.Start < 30*time.Minute { // later ones are cut by the end
				gaps++
				if all[i+1].Start-one.Start > time.Hour/9 {
					longer++
				}
			}
		}
	}
	mean := sum / 4000
	if variance := squares/4000 - mean*mean; math.Abs(mean-9) > 0.25 || math.Abs(variance-9) > 0.9 {
		t.Errorf("the numbers have mean %v and variance %v, both should be 9", mean, variance)
	}
	if share := longer / gaps; math.Abs(share-1/math.E) > 0.02 {
		t.Errorf("%v of the gaps are longer than the mean, and not 1/e", share)
	}
}

// TestPublished: drawn pages have the figures of their source (EURASIP 2012:287, table 1).
func TestPublished(t *testing.T) {
	s := parse(t, `
crowd: readers
users: 2000
clock: {start: "Mon 10:00", length: 12h}
personas: {reader: {share: 1, does: {browse: 0.2/h}}}
`)
	pages, mistakes, visits, more := 0.0, 0.0, 0.0, 0.0
	for _, one := range sessions(t, s) {
		if one.Start > 8*time.Hour { // it may be cut by the end
			continue
		}
		visits++
		for _, step := range one.Steps {
			if step.Mistake != "" {
				mistakes++
				continue
			}
			pages++
			more += float64(len(step.Receives) - 1)
			if len(step.Receives) > 54 || step.Receives[0] < 100 || step.Receives[0] > 2e6 {
				t.Fatalf("a page has %d objects, the first of %d bytes", len(step.Receives), step.Receives[0])
			}
		}
	}
	for what, c := range map[string][3]float64{
		"pages a session":  {pages / visits, 17, 0.7},
		"embedded objects": {more / pages, 5.64, 0.15},
		"mistyped names":   {mistakes / visits, 0.09, 0.01},
	} {
		if math.Abs(c[0]-c[1]) > c[2] {
			t.Errorf("%s: %v, expected %v", what, c[0], c[1])
		}
	}
}

// TestTargets: sites are drawn by popularity, and users deal with those of their group alone, never with themselves.
func TestTargets(t *testing.T) {
	s := parse(t, `
crowd: talkers
users: 50
clock: {start: "Mon 10:00", length: 10h}
services: {voice: {between: 8}, files: {sites: 10, zipf: 1}}
personas: {talker: {share: 1, does: {call: 6/h, transfer: 6/h}}}
`)
	sites, peers := map[int]float64{}, map[[2]int]bool{}
	total := 0.0
	for _, one := range sessions(t, s) {
		for _, step := range one.Steps {
			if one.Behaviour == "call" {
				peers[[2]int{one.User, step.To}] = true
			}
		}
		if one.Behaviour == "transfer" && len(one.Steps) > 0 {
			sites[one.Steps[0].To]++
			total++
		}
	}
	for pair := range peers {
		if pair[0] == pair[1] || (pair[0]-1)/8 != (pair[1]-1)/8 {
			t.Errorf("user %d calls %d", pair[0], pair[1])
		}
	}
	if len(peers) < 300 { // 50 users, of whom each has 7 others
		t.Errorf("%d pairs only talk", len(peers))
	}
	if share := sites[1] / total; math.Abs(share-1/2.929) > 0.03 || sites[10] == 0 || sites[0]+sites[11] > 0 {
		t.Errorf("%v of the visits go to the first site: %v", share, sites)
	}
}

// TestHabits: users differ from each other by more than events of one user do.
func TestHabits(t *testing.T) {
	text := `
crowd: readers
users: 300
clock: {start: "Mon 10:00", length: 4h}
personas: {reader: {share: 1, does: {look: 20/h}}}
behaviours:
  look:
    start: see
    states:
      see: {do: web.page, receives: {uniform: [900, 1100], per-user: 1}, expect: 1s, next: {end: 1}}
`
	means, within := []float64{}, 0.0
	p := plan.New(parse(t, text), nil)
	for user := 1; user <= 300; user++ {
		sum, n, low, high := 0.0, 0.0, math.Inf(1), 0.0
		for _, s := range diary(t, p, user).Sessions {
			v := float64(s.Steps[0].Receives[0])
			sum, n, low, high = sum+v, n+1, min(low, v), max(high, v)
		}
		means, within = append(means, math.Log(sum/n)), max(within, high/low)
	}
	mean, square := 0.0, 0.0
	for _, m := range means {
		mean, square = mean+m/300, square+m*m/300
	}
	if sigma := math.Sqrt(square - mean*mean); math.Abs(sigma-1) > 0.15 || within > 1.23 {
		t.Errorf("between users sigma is %v, and within one a size is %v of another", sigma, within)
	}
}
