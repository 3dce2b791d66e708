package round

import (
	"sort"
	"time"

	"github.com/heddle-network/heddle/crowd/event"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/tally"
)

// watchEvery is how often it is told what a round has come to.
const watchEvery = 2 * time.Second

// watch tells what a round has come to, until it is stopped.
func watch(o Options, l Live, starts []plan.Start, t *tally.Tally, events *event.Events) (stop func()) {
	if o.Live == nil {
		return func() {}
	}
	begun, ticker, ending, ended := time.Now(), time.NewTicker(watchEvery), make(chan struct{}), make(chan struct{})
	tell := func() {
		l.Since = time.Since(begun)
		l.Due = int64(sort.Search(len(starts), func(i int) bool { return starts[i].At > l.Since }))
		l.Result, l.Events = t.Result(), events.Happened()
		o.Live(l)
	}
	go func() {
		defer close(ended)
		for tell(); ; tell() {
			select {
			case <-ticker.C:
			case <-ending:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(ending)
		<-ended
	}
}
