package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/heddle-network/heddle"
)

// How often the store is asked for its state: often enough that a lost quorum shows within
// three seconds. Etcd itself needs two of these to notice.
const (
	probeEvery   = 1000 * time.Millisecond
	probeTimeout = 700 * time.Millisecond
	membersEvery = 10 * time.Second
	// slowAfter is the time after which an answer counts as slow.
	slowAfter = 500 * time.Millisecond
)

// health is what the last contacts showed.
type health struct {
	mu       sync.Mutex
	probed   bool  // at least one probe has ended
	probe    error // the error of the last probe
	change   error // the error of the last change that the store did not answer
	doubtKey string
	latency  time.Duration
	alarm    string
	leader   uint64
	members  []*etcdserverpb.Member
	listed   time.Time
	seen     map[uint64]time.Time // member -> its last answer
	soon     chan struct{}
	once     sync.Once
}

// Health implements Store.
func (e *Etcd) Health() Health {
	h := &e.health
	h.mu.Lock()
	defer h.mu.Unlock()
	r := Health{State: "ok"}
	switch {
	case !h.probed:
		r.State, r.Detail = "down", "the store has not answered yet"
	case h.probe != nil:
		r.State, r.Detail = "down", h.probe.Error()
	case h.alarm != "":
		r.State, r.Detail = "down", "the store takes no changes: alarm "+h.alarm
	case h.change != nil:
		r.State, r.Detail = "slow", h.change.Error()
	case h.latency > slowAfter:
		r.State, r.Detail = "slow", "the last answer took "+h.latency.Round(time.Millisecond).String()
	}
	switch {
	case h.probe != nil:
		r.Cause, r.Refused = heddle.CauseOf(h.probe), errors.Is(h.probe, heddle.StoreRefused.Sentinel())
	case r.State == "slow" && h.change != nil:
		r.Cause = heddle.CauseOf(h.change)
	default:
		r.Cause = r.Detail
	}
	r.Members = h.list(len(e.client.Endpoints()))
	return r
}

// list says of every member whether it answered when it was last asked: each probe asks
// one of the endpoints in turn.
func (h *health) list(endpoints int) []Member {
	recent := time.Now().Add(-time.Duration(endpoints+1)*probeEvery - 2*probeTimeout)
	var all []Member
	for _, m := range h.members {
		one := Member{Name: m.Name, Role: "voter", Up: h.seen[m.ID].After(recent)}
		if len(m.ClientURLs) > 0 {
			one.URL = m.ClientURLs[0]
		}
		switch {
		case m.IsLearner:
			one.Role = "learner"
		case m.ID == h.leader:
			one.Role = "leader"
		}
		all = append(all, one)
	}
	return all
}

// changed and failed record the result of a change.
func (h *health) changed(took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.change, h.latency = nil, took
}

func (h *health) failed(err error, key string) {
	if errors.Is(err, heddle.StoreDown.Sentinel()) && !errors.Is(err, context.Canceled) {
		h.mu.Lock()
		h.change, h.doubtKey = err, key
		h.mu.Unlock()
	}
	h.probeNow()
}

// probeNow makes the next probe start at once.
func (h *health) probeNow() {
	select {
	case h.wake() <- struct{}{}:
	default:
	}
}

// refreshMembers makes the next probe ask who the members are.
func (h *health) refreshMembers() {
	h.mu.Lock()
	h.listed = time.Time{}
	h.mu.Unlock()
	h.probeNow()
}

func (h *health) wake() chan struct{} {
	h.once.Do(func() { h.soon = make(chan struct{}, 1) })
	return h.soon
}

// watchHealth asks the store for its state until the store is closed.
func (e *Etcd) watchHealth() {
	for e.ctx.Err() == nil {
		e.probe()
		select {
		case <-e.ctx.Done():
			return
		case <-e.health.wake():
			pause(e.ctx, probeEvery/7) // one early probe is enough for many requests
		case <-time.After(probeEvery):
		}
	}
}

// probe asks members, one after the other, until one has a leader.
func (e *Etcd) probe() {
	var status *etcdserverpb.StatusResponse
	var err error
	began := time.Now()
	for range min(len(e.client.Endpoints()), 3) {
		began = time.Now()
		if status, err = e.ask(); err == nil || e.ctx.Err() != nil {
			break
		}
	}
	if e.ctx.Err() != nil {
		return
	}
	took := time.Since(began)
	err = e.tlsRefusal(e.ctx, err)
	h := &e.health
	h.mu.Lock()
	h.note(e, err, status, took)
	relist := err == nil && (time.Since(h.listed) > membersEvery || !h.knows(status.Leader))
	doubt := err == nil && h.change != nil
	h.mu.Unlock()
	if doubt {
		e.settle()
	}
	if relist {
		e.listMembers()
	}
}

// ask returns the state of one member.
func (e *Etcd) ask() (*etcdserverpb.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(e.ctx, probeTimeout)
	defer cancel()
	status, err := etcdserverpb.NewMaintenanceClient(e.client.ActiveConnection()).Status(ctx, &etcdserverpb.StatusRequest{})
	if err != nil {
		return nil, err
	}
	e.health.mu.Lock()
	if e.health.seen == nil {
		e.health.seen = map[uint64]time.Time{}
	}
	e.health.seen[status.Header.MemberId] = time.Now()
	e.health.mu.Unlock()
	if status.Leader == 0 {
		return nil, rpctypes.ErrGRPCNoLeader
	}
	return status, nil
}

// settle ends the uncertainty after a change without an answer. It does a read that needs
// the leader and most members, as a change does. A refusal is an answer, too.
func (e *Etcd) settle() {
	e.health.mu.Lock()
	failure, key := e.health.change, []byte(e.health.doubtKey)
	e.health.mu.Unlock()
	ctx, cancel := context.WithTimeout(e.ctx, probeTimeout)
	defer cancel()
	_, err := e.kv().Range(ctx, &etcdserverpb.RangeRequest{Key: append(key, 0), CountOnly: true})
	e.health.mu.Lock()
	defer e.health.mu.Unlock()
	if !retryRead(err) && e.health.change == failure {
		e.health.change = nil
	}
}

func (h *health) note(e *Etcd, err error, status *etcdserverpb.StatusResponse, took time.Duration) {
	was := h.probe
	h.probe = nil
	if err != nil {
		h.probe = e.explain("ask for the state of", "the store", err)
		h.leader = 0
	} else {
		h.leader, h.latency, h.alarm = status.Leader, took, ""
		for _, w := range status.Errors {
			h.alarm = w
		}
	}
	switch {
	case h.probe != nil && (was == nil || !h.probed):
		e.options.Log.Warn("the store is away", "error", h.probe)
	case h.probe == nil && was != nil:
		e.options.Log.Info("the store is back")
	}
	h.probed = true
}

func (h *health) knows(id uint64) bool {
	for _, m := range h.members {
		if m.ID == id {
			return true
		}
	}
	return false
}

func (e *Etcd) listMembers() {
	ctx, cancel := context.WithTimeout(e.ctx, probeTimeout)
	defer cancel()
	r, err := etcdserverpb.NewClusterClient(e.client.ActiveConnection()).MemberList(ctx, &etcdserverpb.MemberListRequest{})
	e.health.mu.Lock()
	defer e.health.mu.Unlock()
	e.health.listed = time.Now()
	if err == nil {
		e.health.members = r.Members
	}
}
