package round

import (
	"time"

	"github.com/heddle-network/heddle/crowd/event"
	"github.com/heddle-network/heddle/crowd/play"
)

// watchEvery is how often it is told what a round has come to.
const watchEvery = 2 * time.Second

// watch tells what a round has come to, until it is stopped.
func watch(o Options, l Live, p *play.Player, events *event.Events, scales *scaler) (stop func()) {
	if o.Live == nil {
		return func() {}
	}
	begun, ticker, ending, ended := time.Now(), time.NewTicker(watchEvery), make(chan struct{}), make(chan struct{})
	tell := func() {
		l.Since = time.Since(begun)
		l.Due = int64(p.Due())
		l.Result, l.Events = p.Tally.Result(), events.Happened()
		l.Present, l.Scales = scales.now()
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
