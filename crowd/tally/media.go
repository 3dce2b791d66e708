package tally

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Calls are how voice calls sounded: the worse direction of each.
type Calls struct {
	Count int64 `json:"count"`
	// R and MOS are the ratings of G.107; P10 is that of which a tenth of the calls are not better.
	RP10   float64 `json:"rP10"`
	RP50   float64 `json:"rP50"`
	MOSP10 float64 `json:"mosP10"`
	MOSP50 float64 `json:"mosP50"`
	// Lost is the share of packets that were not played, of all calls.
	Lost float64 `json:"lost"`
}

// Videos are how videos played.
type Videos struct {
	Count int64 `json:"count"`
	// Start is how long people waited for the first picture.
	Start Durations `json:"start"`
	// Stalled is the share of the time for which pictures stood still, of all videos.
	Stalled float64 `json:"stalled"`
	Stalls  int64   `json:"stalls"`
	// Never is how many more never began.
	Never int64 `json:"never"`
}

// calls counts thousandths of R and MOS.
type calls struct {
	r, mos *hdrhistogram.Histogram
	lost   float64
}

func newCalls() calls {
	return calls{r: hdrhistogram.New(1, 200_000, 4), mos: hdrhistogram.New(1, 10_000, 4)}
}

// Call counts a call: its rating, its score, the share of packets that were not played.
func (t *Tally) Call(r, mos, lost float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls.r.RecordValue(int64(1000*r + 0.5))
	t.calls.mos.RecordValue(int64(1000*mos + 0.5))
	t.calls.lost += lost
}

func (c calls) result() Calls {
	at := func(h *hdrhistogram.Histogram, percent float64) float64 {
		return float64(h.ValueAtPercentile(percent)) / 1000
	}
	n := c.r.TotalCount()
	return Calls{n, at(c.r, 10), at(c.r, 50), at(c.mos, 10), at(c.mos, 50), c.lost / float64(max(1, n))}
}

type videos struct {
	start             *waits
	stalls, never     int64
	stalled, together time.Duration
}

func newVideos() videos { return videos{start: newWaits()} }

// Video counts a video: how long the first picture took, how often and how long pictures stood still, and how long
// it lasted in all.
func (t *Tally) Video(start time.Duration, stalls int, stalled, lasted time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.videos.start.add(start)
	t.videos.stalls += int64(stalls)
	t.videos.stalled += stalled
	t.videos.together += lasted
}

// NoVideo counts a video of which nothing was seen.
func (t *Tally) NoVideo() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.videos.never++
}

func (v videos) result() Videos {
	r := Videos{Stalls: v.stalls, Never: v.never}
	if v.together > 0 {
		r.Stalled = float64(v.stalled) / float64(v.together)
	}
	return r
}
