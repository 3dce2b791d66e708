package classifier

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/crowd/draw"
)

// Verdict says of each behaviour whether what was played can be told apart from what is drawn afresh.
type Verdict struct {
	Crowd string `json:"crowd"`
	Round int    `json:"round"`
	Mode  string `json:"mode"`
	// Lag is how late steps began, at most in 99 of a hundred, in nanoseconds.
	Lag time.Duration `json:"lag"`
	// Seed is that of the crowd that was drawn afresh.
	Seed       uint64      `json:"seed"`
	Behaviours []Behaviour `json:"behaviours"`
}

// Behaviour is the verdict on one behaviour.
type Behaviour struct {
	Behaviour string `json:"behaviour"`
	// Sessions were played, by so many users, and so many of them were cut short. Drawn is how many there are to compare with.
	Sessions int `json:"sessions"`
	Users    int `json:"users"`
	Cut      int `json:"cut"`
	Drawn    int `json:"drawn"`
	// Accuracy is how often the classifier is right with users that it has not seen, 0.5 by guessing; Low and High bound the
	// 95 % interval. They, and P, are 0 if there are too few sessions.
	Accuracy float64 `json:"accuracy,omitempty"`
	Low      float64 `json:"low,omitempty"`
	High     float64 `json:"high,omitempty"`
	// P is the p-value of the distance between the scores of both sides, Adjusted the same by Holm's method for the number of
	// behaviours.
	P        float64 `json:"p,omitempty"`
	Adjusted float64 `json:"adjusted,omitempty"`
	Answer   Answer  `json:"toldApart"`
	// Signs are in what the sessions differ most, if they are told apart.
	Signs []Sign `json:"signs,omitempty"`
	// Power says which wrong crowds of that size would be told apart.
	Power []Power `json:"power,omitempty"`
}

// Answer is whether something is told apart.
type Answer string

// The answers.
const (
	No     Answer = "no"
	Yes    Answer = "yes"
	TooFew Answer = "too few"
)

// What a verdict needs: so many held-out sessions that a classifier whose accuracy is noticeable is told from one that guesses, with
// a chance of power, at the level of bench.Alpha, if sessions do not depend on each other and no other behaviour is asked of; and
// so many users that shuffling them can show it.
const (
	noticeable = 0.6
	power      = 0.8
	leastUsers = 20
)

// leastSessions is how many sessions of a behaviour a verdict needs. Half of two crowds is held out: as many as were played.
func leastSessions() int {
	z := func(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) } // the normal distribution's quantile
	root := (z(1-bench.Alpha)/2 + z(power)*math.Sqrt(noticeable*(1-noticeable))) / (noticeable - 0.5)
	return int(math.Ceil(root * root))
}

// Judge draws a crowd with a seed, and asks of each of the behaviours whether it can be told apart from what was played.
func (p Played) Judge(ctx context.Context, seed uint64, behaviours []string) (Verdict, error) {
	drawn, err := p.Draw(ctx, seed)
	if err != nil {
		return Verdict{}, err
	}
	v, err := p.compare(drawn, seed, behaviours)
	if err != nil {
		return v, err
	}
	return v, p.test(ctx, drawn, v)
}

// compare compares behaviours of what was played with those of what was drawn with a seed.
func (p Played) compare(drawn []Session, seed uint64, behaviours []string) (Verdict, error) {
	v := Verdict{Crowd: p.Run.Crowd, Round: p.Round.Number, Mode: p.Round.Mode, Lag: p.Lag, Seed: seed}
	for _, name := range behaviours {
		b, err := judge(name, seed, of(name, p.Sessions), of(name, drawn))
		if err != nil {
			return v, fmt.Errorf("%s: %w", name, err)
		}
		v.Behaviours = append(v.Behaviours, b)
	}
	v.correct()
	return v, nil
}

// of takes the sessions of a behaviour.
func of(name string, all []Session) (some []Session) {
	for _, s := range all {
		if s.Behaviour == name {
			some = append(some, s)
		}
	}
	return some
}

// judge compares what was played with what was drawn.
func judge(name string, seed uint64, played, drawn []Session) (b Behaviour, err error) {
	b = Behaviour{Behaviour: name, Sessions: len(played), Drawn: len(drawn)}
	users := map[int]bool{}
	for _, s := range played {
		users[s.User] = true
		b.Cut += truth(s.Cut)
	}
	if b.Users = len(users); b.Sessions < leastSessions() || b.Users < leastUsers {
		b.Answer = TooFew
		return b, nil
	}
	t, chance := newTable(played, drawn), draw.NewStream(seed, "classifier", name)
	r, err := try(played, drawn, t, chance)
	if err != nil {
		return b, err
	}
	b.Accuracy, b.P, b.Signs = accuracy(r.held), r.P, signs(t, len(played))
	b.Low, b.High = interval(r.held, chance)
	return b, nil
}

// correct adjusts the p-values for the number of behaviours that are judged, and gives the answers.
func (v Verdict) correct() {
	var judged []*Behaviour
	var p []float64
	for i := range v.Behaviours {
		if b := &v.Behaviours[i]; b.Answer != TooFew {
			judged, p = append(judged, b), append(p, b.P)
		}
	}
	for i, adjusted := range bench.Holm(p) {
		b := judged[i]
		b.Adjusted, b.Answer = adjusted, No
		if adjusted < bench.Alpha {
			b.Answer = Yes
		} else {
			b.Signs = nil
		}
	}
}

// Check is the error of a verdict that is not "no" for each behaviour.
func (v Verdict) Check() error {
	var apart, few []string
	for _, b := range v.Behaviours {
		switch b.Answer {
		case Yes:
			apart = append(apart, fmt.Sprintf("%s (p %.2g)", b.Behaviour, b.Adjusted))
		case TooFew:
			few = append(few, fmt.Sprintf("%s (%d of %d users)", b.Behaviour, b.Sessions, b.Users))
		}
	}
	switch {
	case apart != nil:
		return heddle.Errorf(heddle.CrowdFailed, "classify crowd", v.Crowd, "what was played is told apart from its scenario: "+heddle.List(apart),
			"look at what differs; see that the round is valid with 'heddle crowd report'")
	case few != nil:
		return heddle.Errorf(heddle.CrowdFailed, "classify crowd", v.Crowd, fmt.Sprintf("too few sessions of %s; a behaviour needs %d, of %d users", heddle.List(few), leastSessions(), leastUsers),
			"play more users, or for longer, or choose --behaviours")
	}
	return nil
}
