package classifier

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/heddle-network/heddle/crowd/draw"
)

// person is a user of one of two crowds: the first one's (which is taken for played) or the second one's. A user's sessions
// are alike, for users have habits; so they stay together wherever chance decides.
type person struct {
	persona string
	first   bool
	rows    []int
	// right is how many of them the classifier takes for the first crowd's, score the sum of their scores.
	right, score float64
}

// trial is the result of one test of whether two crowds can be told apart at a behaviour.
type trial struct {
	P    float64
	held []person // and what the classifier says of them
}

// shuffles is how often the held-out users are shuffled between the crowds, and resamples how often they are drawn anew for
// the interval.
const shuffles, resamples = 9999, 2000

// try trains a classifier with one half of the users of each persona of each crowd, and judges it by the other half. The
// stream decides who is in which.
func try(first, second []Session, t table, s *draw.Stream) (r trial, err error) {
	learnt, held := split(people(first, second), s)
	var rows []int
	count := map[bool]float64{}
	for _, p := range learnt {
		rows = append(rows, p.rows...)
		count[p.first] += float64(len(p.rows))
	}
	b := newBasis(t, rows)
	var examples []example
	for _, p := range learnt {
		for _, row := range p.rows {
			examples = append(examples, example{b.of(t.rows[row]), p.first, float64(len(rows)) / 2 / count[p.first]})
		}
	}
	l, err := learn(examples, b.count, len(t.names))
	if err != nil {
		return r, err
	}
	for i, p := range held {
		for _, row := range p.rows {
			score := l.score(b.of(t.rows[row]))
			held[i].right += float64(truth(score > 0))
			held[i].score += score
		}
	}
	return trial{shuffle(held, s), held}, nil
}

// people gathers the sessions of two crowds, whose rows follow each other, by users.
func people(first, second []Session) (all []person) {
	row := 0
	for number, crowd := range [][]Session{first, second} {
		for i, s := range crowd {
			if i == 0 || crowd[i-1].User != s.User {
				all = append(all, person{persona: s.Persona, first: number == 0})
			}
			all[len(all)-1].rows = append(all[len(all)-1].rows, row+i)
		}
		row += len(crowd)
	}
	return all
}

// split halves the users of each persona of each crowd by chance.
func split(all []person, s *draw.Stream) (learnt, held []person) {
	mix(all, s)
	slices.SortStableFunc(all, func(a, b person) int {
		return cmp.Or(cmp.Compare(a.persona, b.persona), cmp.Compare(truth(a.first), truth(b.first)))
	})
	for i, p := range all {
		if i%2 == 0 {
			learnt = append(learnt, p)
		} else {
			held = append(held, p)
		}
	}
	return learnt, held
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// mix puts things in an order by chance.
func mix[T any](all []T, s *draw.Stream) {
	for i := len(all) - 1; i > 0; i-- {
		j := s.Below(i + 1)
		all[i], all[j] = all[j], all[i]
	}
}

// accuracy is the mean of the two shares of sessions, of each crowd, that the classifier gives to the right one: one half is
// what guessing does, also where one crowd has more sessions.
func accuracy(all []person) float64 {
	first, second := means(all, func(p person) float64 { return p.right })
	return (first + 1 - second) / 2
}

// distance is how much higher the first crowd's sessions score, on average.
func distance(all []person) float64 {
	first, second := means(all, func(p person) float64 { return p.score })
	return first - second
}

// means are a sum of each person's, for each session of the first crowd and of the second one.
func means(all []person, of func(person) float64) (first, second float64) {
	var sum, count [2]float64
	for _, p := range all {
		sum[truth(p.first)] += of(p)
		count[truth(p.first)] += float64(len(p.rows))
	}
	return sum[1] / max(1, count[1]), sum[0] / max(1, count[0])
}

// shuffle is the p-value: the share of shuffles of the held-out users, within each persona, in which the crowds are as far
// apart at least. That is exact if users are alike but for their persona: it takes nothing for granted of how many sessions a
// user has, and how alike they are. The distance of the scores is more than the accuracy, which knows only on which side of 0
// each is (Cheng and Cloninger, Classification Logit Two-Sample Testing by Neural Networks, 2022).
func shuffle(held []person, s *draw.Stream) float64 {
	all, as, reached := slices.Clone(held), 0, distance(held)
	for range shuffles {
		for from := 0; from < len(all); {
			to := from
			for to < len(all) && all[to].persona == all[from].persona {
				to++
			}
			for i := to - 1; i > from; i-- {
				j := from + s.Below(i+1-from)
				all[i].first, all[j].first = all[j].first, all[i].first
			}
			from = to
		}
		if distance(all) >= reached-1e-9 { // sums in another order differ in the last digit
			as++
		}
	}
	return float64(as+1) / (shuffles + 1)
}

// interval is the 95 % interval of the accuracy: of crowds of the same users, drawn with replacement (bootstrap).
func interval(held []person, s *draw.Stream) (low, high float64) {
	var crowds [2][]person
	for _, p := range held {
		crowds[truth(p.first)] = append(crowds[truth(p.first)], p)
	}
	all := make([]float64, resamples)
	again := make([]person, 0, len(held))
	for i := range all {
		again = again[:0]
		for _, c := range crowds {
			for range c {
				again = append(again, c[s.Below(len(c))])
			}
		}
		all[i] = accuracy(again)
	}
	slices.Sort(all)
	return stat.Quantile(0.025, stat.Empirical, all, nil), stat.Quantile(0.975, stat.Empirical, all, nil)
}
