package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// An endpoint is in quarantine from when its removal was begun until it is proven that
// its container has let go of what it had. Its record and intent stay in the ledger, and
// with them its addresses and its NIC; only why is kept in memory, for the agent tries
// again when it starts, and then every few seconds.

// judge notes whether a removal has ended in quarantine, and returns why it failed: the
// quarantine if that is among the reasons. An endpoint that is in quarantine stays there
// until its removal succeeds, whatever else may fail meanwhile.
func (a *Agent) judge(id heddle.EndpointID, err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	why := heddle.Quarantined.In(err)
	switch {
	case err == nil:
		delete(a.quarantine, id)
	case why != nil:
		a.quarantine[id] = why.Cause
		if err != error(why) {
			a.log.Warn("a removal has failed", "endpoint", id, "error", err)
		}
		return why
	}
	return err
}

// quarantined says why an endpoint is in quarantine.
func (a *Agent) quarantined(id heddle.EndpointID) (why string, is bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	why, is = a.quarantine[id]
	return why, is
}

// keepQuarantine tries again and again.
func (a *Agent) keepQuarantine(ctx context.Context) {
	for next := patrolEvery; pause(ctx, next); {
		began := time.Now()
		stay := a.tryQuarantined()
		next = quarantineAfter(time.Since(began), stay)
	}
}

// quarantineAfter is when to try again after a round that took so long, and after which so
// many endpoints stay. To search every namespace takes its time on a full host: no more
// than a tenth of all. What the removals have waited for namespaces to end is no search.
func quarantineAfter(took time.Duration, stay int) time.Duration {
	return max(patrolEvery, (took-time.Duration(stay)*kernel.EndTime)*patrolTenth)
}

// tryQuarantined tries to end the quarantine of all that are in it, and returns how many
// stay.
func (a *Agent) tryQuarantined() (stay int) {
	a.mu.RLock()
	var all []heddle.EndpointID
	for id := range a.quarantine {
		all = append(all, id)
	}
	a.mu.RUnlock()
	for _, id := range all {
		before, _ := a.quarantined(id)
		gone, err := a.collect(id, func(record) bool { _, is := a.quarantined(id); return is })
		now, _ := a.quarantined(id)
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

// quarantinePart tells of what is in quarantine; none if nothing is.
func (a *Agent) quarantinePart() []heddle.PartStatus {
	a.mu.RLock()
	defer a.mu.RUnlock()
	var all []string
	for id, why := range a.quarantine {
		all = append(all, id.String()+" ("+why+")")
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return []heddle.PartStatus{{Name: "quarantine", State: "warn", Detail: fmt.Sprintf("%d: %s", len(all), strings.Join(all, "; "))}}
}
