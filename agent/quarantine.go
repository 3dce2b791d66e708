package agent

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// quarantine records which endpoints are in quarantine: their removal has begun, but it is not
// proven that their containers no longer use what they had. Record and intent stay in the ledger,
// and with them the addresses and the NIC. Only the reason is kept in memory: the agent tries
// again when it starts, and then every few seconds.
type quarantine struct {
	log *slog.Logger

	mu  rwMutex[atQuarantine]
	why map[heddle.EndpointID]string
}

func newQuarantine(log *slog.Logger) *quarantine {
	return &quarantine{log: log, why: map[heddle.EndpointID]string{}}
}

// update notes whether a removal has ended in quarantine, and returns why it failed. If quarantine
// is among the reasons, it returns only that. An endpoint stays in quarantine until its removal
// succeeds, whatever other failures there are.
func (q *quarantine) update(id heddle.EndpointID, err error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	why := heddle.Quarantined.In(err)
	switch {
	case err == nil:
		delete(q.why, id)
	case why != nil:
		q.why[id] = why.Cause
		if err != error(why) {
			q.log.Warn("a removal has failed", "endpoint", id, "error", err)
		}
		return why
	}
	return err
}

func (q *quarantine) forget(id heddle.EndpointID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.why, id)
}

// reasonFor returns why an endpoint is in quarantine.
func (q *quarantine) reasonFor(id heddle.EndpointID) (why string, is bool) {
	q.mu.RLock()
	defer q.mu.RUnlock()
	why, is = q.why[id]
	return why, is
}

// reasons returns, for every endpoint in quarantine, why it is there.
func (q *quarantine) reasons() map[heddle.EndpointID]string {
	q.mu.RLock()
	defer q.mu.RUnlock()
	return maps.Clone(q.why)
}

// parts returns the status of the quarantine; nil if it is empty.
func (q *quarantine) parts() []heddle.PartStatus {
	var all []string
	for id, why := range q.reasons() {
		all = append(all, id.String()+" ("+why+")")
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return []heddle.PartStatus{{Name: "quarantine", State: "warn",
		Detail: fmt.Sprintf("%d: %s", len(all), strings.Join(all, "; "))}}
}

// quarantineMost is the longest pause between two tries. No source: a guess at what an operator waits.
const quarantineMost = 30 * time.Second

// retryQuarantine tries repeatedly to end the quarantine of endpoints.
func (a *Agent) retryQuarantine(ctx context.Context) {
	for next := patrolEvery; pause(ctx, next); {
		began := time.Now()
		stay := a.retryQuarantined()
		next = quarantinePause(time.Since(began), stay)
	}
}

// quarantinePause returns how long to wait after a round that took that long and left that many
// endpoints in quarantine. A search of all namespaces is slow on a full host, and should take at
// most a tenth of the time, but one that other work has held up is no reason to wait for minutes. The
// wait for namespaces to end does not count as search.
func quarantinePause(took time.Duration, stay int) time.Duration {
	return min(max(patrolEvery, (took-time.Duration(stay)*kernel.EndTime)*patrolTenth), quarantineMost)
}

// retryQuarantined tries to end the quarantine of all that are in it, and returns how many
// stay.
func (a *Agent) retryQuarantined() (stay int) {
	for id := range a.quarantine.reasons() {
		before, _ := a.quarantine.reasonFor(id)
		gone, err := a.collect(id, func(record) bool { _, is := a.quarantine.reasonFor(id); return is })
		now, _ := a.quarantine.reasonFor(id)
		switch {
		case gone && err == nil:
			a.log.Info("a container has let go; its endpoint is out of quarantine", "endpoint", id)
		case err != nil && now != before:
			a.log.Warn("an endpoint stays in quarantine", "endpoint", id, "error", err)
		}
		if err != nil {
			stay++
		}
	}
	return stay
}
