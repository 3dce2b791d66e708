package tally

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// waits counts durations. It has a lock of its own: working out quantiles takes a while, in which others go on.
type waits struct {
	mu   sync.Mutex
	all  *hdrhistogram.Histogram
	most int64
}

// newWaits counts microseconds, up to an hour, to three digits.
func newWaits() *waits { return &waits{all: hdrhistogram.New(1, time.Hour.Microseconds(), 3)} }

// add counts a duration; what is longer than a histogram holds counts as the longest.
func (w *waits) add(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	us := min(max(0, d.Microseconds()), w.all.HighestTrackableValue())
	w.all.RecordValue(us)
	w.most = max(w.most, us)
}

func (w *waits) durations() Durations {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.all.ValueAtPercentiles([]float64{50, 90, 99})
	of := func(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
	return Durations{w.all.TotalCount(), of(at[50]), of(at[90]), of(at[99]), of(w.most)}
}
