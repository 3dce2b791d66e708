package impair

import (
	"math/rand/v2"
	"time"
)

// decider decides what happens to frames. Every frame takes the same number of random
// numbers, so that the decision about the tenth depends on the seed alone.
type decider struct {
	Impairment
	random *rand.Rand
}

// decision says what happens to one frame.
type decision struct {
	lose, twice, late, corrupt bool
	bit                        uint64 // the bit to flip, modulo the frame's length
	delay                      time.Duration
}

// newDecider mixes the stream's number into the seed, so that the two directions of a wire
// do not lose the same frames.
func newDecider(i Impairment, stream uint64) *decider {
	return &decider{i, rand.New(rand.NewPCG(i.Seed, stream))}
}

func (d *decider) decide() decision {
	f := decision{
		lose:    d.random.Float64() < d.Loss,
		twice:   d.random.Float64() < d.Duplicate,
		late:    d.random.Float64() < d.Reorder,
		corrupt: d.random.Float64() < d.Corrupt,
		bit:     d.random.Uint64(),
	}
	shift := 2*d.random.Float64() - 1
	f.delay = d.Delay + time.Duration(shift*float64(d.Jitter))
	return f
}
