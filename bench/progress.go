package bench

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// progress shows the progress of a run: a table on a terminal, plain lines elsewhere. It shows
// something at least every two seconds.
type progress struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	m        Matrix
	board    *liveTable

	total, done int
	estimate    time.Duration // of the whole run, made before the start
	left        time.Duration // of the runs that are not done
	started     time.Time
	cell        string
	cellStarted time.Time
	printed     time.Time
	quit, gone  chan struct{}
}

// heartbeat is the longest time without output.
const heartbeat = 1800 * time.Millisecond

func startProgress(w io.Writer, m Matrix, j *journal) *progress {
	p := &progress{w: w, m: m, started: time.Now(), cellStarted: time.Now(), quit: make(chan struct{}), gone: make(chan struct{})}
	if w == nil {
		p.w = io.Discard
	}
	for round := capacityRound; round < m.WarmupRounds+m.Rounds; round++ {
		cells := j.left(m.roundCells(round), round)
		p.total += len(cells)
		p.estimate += m.estimate(cells)
	}
	p.left = p.estimate
	p.terminal = isTerminal(p.w)
	p.board = newLiveTable(m)
	fmt.Fprintf(p.w, "bench: %d runs (%d columns, %d rounds), about %s\n", p.total, len(m.Columns), m.Rounds, shortDuration(p.left))
	p.printed = time.Now()
	go p.tick()
	return p
}

func (p *progress) tick() {
	defer close(p.gone)
	t := time.NewTicker(300 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			p.refresh()
		case <-p.quit:
			return
		}
	}
}

func (p *progress) refresh() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.terminal:
		p.board.draw(p.w, p.status())
	case time.Since(p.printed) > heartbeat:
		p.line(p.status())
	}
}

func (p *progress) status() string {
	left := max(0, p.left-time.Since(p.cellStarted))
	return fmt.Sprintf("[%d/%d, about %s left] %s, %s so far", p.done, p.total, shortDuration(left), p.cell, shortDuration(time.Since(p.cellStarted)))
}

func (p *progress) line(s string) {
	if !p.terminal {
		fmt.Fprintln(p.w, s)
		p.printed = time.Now()
	}
}

// say shows what is done between runs.
func (p *progress) say(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cell, p.cellStarted = what, time.Now()
}

func (p *progress) begin(c Cell, round int) {
	p.say(fmt.Sprintf("%s: %s", roundName(round), c))
}

// end adjusts the remaining time: at first by the estimate, later by the time that runs took.
func (p *progress) end(s Sample) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	rest := float64(p.total-p.done) / float64(p.total)
	p.left = time.Duration(rest * (rest*float64(p.estimate) + float64(time.Since(p.started))))
	p.board.put(s)
	p.line(fmt.Sprintf("[%d/%d, about %s left] %s: %s: %s", p.done, p.total, shortDuration(p.left), roundName(s.Round), s.Cell, headline(p.m, s)))
}

func (p *progress) stop() {
	close(p.quit)
	<-p.gone
	if p.terminal {
		p.board.draw(p.w, fmt.Sprintf("%d runs in %s", p.done, shortDuration(time.Since(p.started))))
		return
	}
	fmt.Fprintf(p.w, "bench: %d runs in %s\n", p.done, shortDuration(time.Since(p.started)))
}

func headline(m Matrix, s Sample) string {
	if s.Error != "" {
		return "failed: " + heddle.Visible(s.Error, false)
	}
	f := m.probe(s.Cell).Figures()[0]
	return fmt.Sprintf("%s %s %s", f.Name, number(s.Figures[f.Name]), f.Unit)
}

// shortDuration writes a duration with at most two units.
func shortDuration(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
