package classifier

import (
	"context"
	"fmt"
	"reflect"
	"strconv"

	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/crowd/draw"
)

// Power is what the test says of crowds that are wrong by intention.
type Power struct {
	Wrong string `json:"wrong"`
	// Noticed is how many of them are told apart, whatever the other behaviours are.
	Noticed int `json:"noticed"`
	Of      int `json:"of"`
}

// Would reports whether such a crowd would be told apart, most likely.
func (p Power) Would() bool { return float64(p.Noticed) >= power*float64(p.Of) }

// powerCrowds is how many crowds of each kind of wrong the test is tested with.
const powerCrowds = 5

// test adds to a verdict which wrong crowds would be told from what was drawn.
func (p Played) test(ctx context.Context, drawn []Session, v Verdict) error {
	judged := 0
	for _, b := range v.Behaviours {
		judged += truth(b.Answer != TooFew)
	}
	if judged == 0 {
		return nil
	}
	others := make([][]Session, powerCrowds)
	for i := range others {
		var err error
		if others[i], err = p.Draw(ctx, v.Seed+1+uint64(i)); err != nil {
			return err
		}
	}
	for i := range v.Behaviours {
		b := &v.Behaviours[i]
		if b.Answer == TooFew {
			continue
		}
		if err := b.test(ctx, v.Seed, level(judged), of(b.Behaviour, drawn), others); err != nil {
			return fmt.Errorf("%s: %w", b.Behaviour, err)
		}
	}
	return nil
}

// level is that below which the smallest p-value of so many behaviours is clear by Holm's method.
func level(behaviours int) float64 { return bench.Alpha / float64(behaviours) }

// test makes wrong crowds of others, and counts which are told from what was drawn at a level. A behaviour in which there is
// nothing to be wrong, such as no pauses, has no such crowds.
func (b *Behaviour) test(ctx context.Context, seed uint64, level float64, drawn []Session, others [][]Session) error {
	for _, w := range wrongs {
		p := Power{Wrong: w.name}
		for i, crowd := range others {
			if err := ctx.Err(); err != nil {
				return err
			}
			right := of(b.Behaviour, crowd)
			bad, s := copied(right), draw.NewStream(seed, "classifier", b.Behaviour, w.name, strconv.Itoa(i))
			if w.make(bad, s); reflect.DeepEqual(bad, right) {
				continue
			}
			r, err := try(bad, drawn, newTable(bad, drawn), s)
			if err != nil {
				return err
			}
			p.Of++
			p.Noticed += truth(r.P < level)
		}
		if p.Of > 0 {
			b.Power = append(b.Power, p)
		}
	}
	return nil
}
