package resolver

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/heddle-network/heddle/resolver/process"
)

// maxDenied bounds the containers that the status tells of.
const maxDenied = 20

// recent counts what happens in the period that runs and in the one before.
type recent struct {
	now    atomic.Uint64
	before uint64
}

func (r *recent) add() { r.now.Add(1) }

func (r *recent) count() uint64 { return r.before + r.now.Load() }

// denied are a container's questions that lately were not answered, by the reason.
type denied struct{ noWayOut, tooFast, waiting, connections recent }

func (d *denied) nextPeriod() {
	for _, r := range []*recent{&d.noWayOut, &d.tooFast, &d.waiting, &d.connections} {
		r.before = r.now.Swap(0)
	}
}

// nextPeriod begins a period: what happened before the last one is forgotten.
func (a *accounts) nextPeriod() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.all {
		c.denied.nextPeriod()
	}
}

// denied lists the containers whose questions lately were not answered, those with most first.
func (a *accounts) denied() (all []process.Denied) {
	a.mu.Lock()
	for container, c := range a.all {
		d := process.Denied{Container: container, NoWayOut: c.denied.noWayOut.count(), TooFast: c.denied.tooFast.count(),
			Waiting: c.denied.waiting.count(), Connections: c.denied.connections.count()}
		if d.Total() > 0 {
			all = append(all, d)
		}
	}
	a.mu.Unlock()
	slices.SortFunc(all, func(a, b process.Denied) int {
		return cmp.Or(cmp.Compare(b.Total(), a.Total()), strings.Compare(a.Container, b.Container))
	})
	return all[:min(len(all), maxDenied)]
}
