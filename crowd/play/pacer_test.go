package play

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// paced runs a test with a pacer, on a clock that stands still while something is done.
func paced(t *testing.T, test func(p *pacer)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		p := newPacer()
		var all sync.WaitGroup
		all.Go(func() { p.run(ctx) })
		test(p)
		cancel()
		all.Wait()
		if len(p.beats) > 0 {
			t.Errorf("%d beats are left", len(p.beats))
		}
	})
}

// TestPacer: everything is done as often as it should be, never early, nor later than a pacer's sleep takes;
// also what begins while the pacer sleeps for something later.
func TestPacer(t *testing.T) {
	paced(t, func(p *pacer) {
		start := time.Now()
		var all sync.WaitGroup
		for i, every := range []time.Duration{ms(700), ms(20), ms(1), ms(3)} {
			all.Go(func() {
				time.Sleep(ms(20 * i))
				first, n := start.Add(ms(20*i+15)), 0
				err := p.keep(context.Background(), first, every, func(at time.Time) bool {
					if want := first.Add(time.Duration(n) * every); !at.Equal(want) {
						t.Errorf("each %s: %s, expected %s", every, at.Sub(start), want.Sub(start))
					}
					if late := time.Since(at); late < 0 || late > grain {
						t.Errorf("each %s: %s is late by %s", every, at.Sub(start), late)
					}
					n++
					return n == 10
				})
				if err != nil || n != 10 {
					t.Errorf("each %s: %d times, %v", every, n, err)
				}
			})
		}
		all.Wait()
		if took := time.Since(start); took < ms(15+9*700) || took > ms(15+9*700)+grain {
			t.Errorf("it took %s", took)
		}
	})
}

// TestPacerEnds: when its context ends, a beat is not done any more; one that is being done is waited for.
func TestPacerEnds(t *testing.T) {
	for _, does := range []time.Duration{0, time.Second} {
		paced(t, func(p *pacer) {
			ctx, cancel := context.WithTimeout(context.Background(), ms(1500))
			defer cancel()
			begun, ended, start := 0, 0, time.Now()
			err := p.keep(ctx, start, time.Hour, func(time.Time) bool {
				begun++
				time.Sleep(ms(1000) + does)
				ended++
				return false
			})
			if took, want := time.Since(start), ms(1500)+does/2; !errors.Is(err, context.DeadlineExceeded) || begun != 1 || ended != 1 || took != want {
				t.Errorf("begun %d times, ended %d times, after %s, expected %s; %v", begun, ended, took, want, err)
			}
		})
	}
}
