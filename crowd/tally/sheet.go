package tally

import (
	"fmt"
	"maps"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Sheet is a tally that can be added to others: quantiles are those of all that was counted, and no means of quantiles.
type Sheet struct {
	Behaviours map[string]Sessions    `json:"behaviours"`
	Actions    map[string]ActionSheet `json:"actions"`
	Calls      CallSheet              `json:"calls"`
	Videos     VideoSheet             `json:"videos"`
	Lag        WaitSheet              `json:"lag"`
	Paced      WaitSheet              `json:"paced"`
	Frames     WaitSheet              `json:"frames"`
	Failures   map[string]int64       `json:"failures"`
	Caches     map[string]Objects     `json:"caches,omitempty"`
}

// WaitSheet is how many durations there were of each length, in microseconds.
type WaitSheet struct {
	Counts Counts `json:"counts"`
	Most   int64  `json:"most"`
}

// ActionSheet has the steps of one action.
type ActionSheet struct {
	Count      int64     `json:"count"`
	Failed     int64     `json:"failed"`
	GivenUp    int64     `json:"givenUp"`
	Unfinished int64     `json:"unfinished"`
	Satisfied  int64     `json:"satisfied"`
	Tolerating int64     `json:"tolerating"`
	Planned    WaitSheet `json:"fromPlan"`
	Service    WaitSheet `json:"service"`
}

// CallSheet has thousandths of R and MOS, and the sum of the calls' shares of lost packets.
type CallSheet struct {
	R    Counts  `json:"r"`
	MOS  Counts  `json:"mos"`
	Lost float64 `json:"lost"`
}

// VideoSheet has the sums of all videos; times are in nanoseconds.
type VideoSheet struct {
	Start    WaitSheet     `json:"start"`
	Stalls   int64         `json:"stalls"`
	Never    int64         `json:"never"`
	Stalled  time.Duration `json:"stalled"`
	Together time.Duration `json:"together"`
}

// Counts is a histogram, compressed (HdrHistogram, V2, base64).
type Counts string

// Sheet is the tally so far. Nobody counts any more.
func (t *Tally) Sheet() (Sheet, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var w writer
	s := Sheet{Behaviours: map[string]Sessions{}, Actions: map[string]ActionSheet{}, Failures: map[string]int64{},
		Calls:  CallSheet{R: w.counts(t.calls.r), MOS: w.counts(t.calls.mos), Lost: t.calls.lost},
		Videos: VideoSheet{Start: w.waits(t.videos.start), Stalls: t.videos.stalls, Never: t.videos.never, Stalled: t.videos.stalled, Together: t.videos.together},
		Lag:    w.waits(t.lag), Paced: w.waits(t.paced), Frames: w.waits(t.frames)}
	for name, b := range t.behaviours {
		s.Behaviours[name] = *b
	}
	for name, a := range t.actions {
		s.Actions[name] = ActionSheet{Count: a.Count, Failed: a.Failed, GivenUp: a.GivenUp, Unfinished: a.Unfinished, Satisfied: a.satisfied, Tolerating: a.tolerating,
			Planned: w.waits(a.planned), Service: w.waits(a.service)}
	}
	for why, n := range t.failures {
		s.Failures[why] = n
	}
	s.Caches = maps.Clone(t.caches)
	return s, w.failed
}

// Add adds a sheet to a tally. If it cannot be read, the error says so, and the tally is of no use.
func (t *Tally) Add(s Sheet) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var r reader
	for name, more := range s.Behaviours {
		sum := more
		if b := t.behaviours[name]; b != nil {
			sum = b.Plus(more)
		}
		t.behaviours[name] = &sum
	}
	for name, more := range s.Actions {
		a := t.action(name)
		a.Count, a.Failed, a.GivenUp, a.Unfinished = a.Count+more.Count, a.Failed+more.Failed, a.GivenUp+more.GivenUp, a.Unfinished+more.Unfinished
		a.satisfied, a.tolerating = a.satisfied+more.Satisfied, a.tolerating+more.Tolerating
		r.waits(a.planned, more.Planned)
		r.waits(a.service, more.Service)
	}
	r.counts(t.calls.r, s.Calls.R)
	r.counts(t.calls.mos, s.Calls.MOS)
	t.calls.lost += s.Calls.Lost
	v := &t.videos
	r.waits(v.start, s.Videos.Start)
	v.stalls, v.never, v.stalled, v.together = v.stalls+s.Videos.Stalls, v.never+s.Videos.Never, v.stalled+s.Videos.Stalled, v.together+s.Videos.Together
	r.waits(t.lag, s.Lag)
	r.waits(t.paced, s.Paced)
	r.waits(t.frames, s.Frames)
	for why, n := range s.Failures {
		t.failures[why] += n
	}
	for behaviour, more := range s.Caches {
		t.caches[behaviour] = t.caches[behaviour].Plus(more)
	}
	return r.failed
}

// writer writes histograms, until one fails.
type writer struct{ failed error }

func (w *writer) counts(h *hdrhistogram.Histogram) Counts {
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil && w.failed == nil {
		w.failed = fmt.Errorf("write a histogram: %w", err)
	}
	return Counts(text)
}

func (w *writer) waits(of *waits) WaitSheet {
	of.mu.Lock()
	defer of.mu.Unlock()
	return WaitSheet{w.counts(of.all), of.most}
}

// reader adds histograms, until one fails.
type reader struct{ failed error }

func (r *reader) counts(to *hdrhistogram.Histogram, from Counts) {
	more, err := hdrhistogram.Decode([]byte(from))
	if err == nil {
		if dropped := to.Merge(more); dropped > 0 {
			err = fmt.Errorf("it has %d values beyond all bounds", dropped)
		}
	}
	if err != nil && r.failed == nil {
		r.failed = fmt.Errorf("read a histogram: %w", err)
	}
}

func (r *reader) waits(to *waits, from WaitSheet) {
	to.mu.Lock()
	defer to.mu.Unlock()
	r.counts(to.all, from.Counts)
	to.most = max(to.most, from.Most)
}
