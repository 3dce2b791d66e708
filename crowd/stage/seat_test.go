package stage

import (
	"slices"
	"testing"

	"github.com/heddle-network/heddle/crowd/engine"
	"github.com/heddle-network/heddle/crowd/machine"
)

// TestParties: each user is in one party, those of a party are at one place, and no place waits for all of another one's.
func TestParties(t *testing.T) {
	for _, c := range []struct {
		places, first, last int
		by                  *engine.Engine
		sizes               []int
	}{
		{1, 1, 150, nil, []int{64, 64, 22}}, {1, 1, 64, nil, []int{64}}, {1, 3, 2, nil, nil}, {2, 1, 3, nil, []int{1, 2}}, {3, 5, 5, nil, []int{1}},
		{2, 1, 256, nil, []int{64, 64, 64, 64}}, {1, 8, 10, &engine.Engine{}, []int{1, 1, 1}},
	} {
		s := &Stage{places: make([]place, c.places), options: Options{Engine: c.by}}
		var sizes, users []int
		last := -1
		for _, party := range s.parties(c.first, c.last) {
			sizes, users = append(sizes, len(party)), append(users, party...)
			at := s.placeOf(party[0])
			if slices.ContainsFunc(party, func(user int) bool { return s.placeOf(user) != at }) {
				t.Errorf("%+v: users at several places: %v", c, party)
			}
			if c.places == 2 && at == last {
				t.Errorf("%+v: two parties at place %d one after the other", c, at)
			}
			last = at
		}
		slices.Sort(users)
		for i, user := range users {
			if user != c.first+i || user > c.last {
				t.Errorf("%+v: users %v", c, users)
				break
			}
		}
		if len(users) != c.last-c.first+1 || !slices.Equal(sizes, c.sizes) {
			t.Errorf("%+v: sizes %v", c, sizes)
		}
	}
}

// TestPartiesOfPart: of a part on one of several machines, its own users are attached, and no others.
func TestPartiesOfPart(t *testing.T) {
	for number := 1; number <= 3; number++ {
		p := machine.Part{Number: number, Of: 3}
		s := &Stage{places: make([]place, 1), options: Options{Part: p}}
		for last := range 10 {
			all := slices.Concat(s.parties(1, last)...)
			if len(all) != p.Count(last) || slices.ContainsFunc(all, func(user int) bool { return (user-1)%3 != number-1 || user > last }) {
				t.Errorf("part %s of %d users has %v", p, last, all)
			}
		}
		if sizes := s.parties(1, 300); len(sizes) != 2 || len(sizes[0]) != batchSize {
			t.Errorf("part %s is attached in %d groups", p, len(sizes))
		}
	}
}
