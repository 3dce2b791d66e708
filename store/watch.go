package store

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/heddle-network/heddle"
)

// Watch implements Store. After every break of the stream it starts with a snapshot again:
// by the revisions alone, a store that was restored or lost its data cannot be told from
// one that only restarted.
func (e *Etcd) Watch(ctx context.Context, prefix string) <-chan Event {
	out := make(chan Event, 16)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(e.ctx, cancel)
	go func() {
		defer close(out)
		defer cancel()
		defer stop()
		wait := time.Duration(0)
		for ctx.Err() == nil {
			began, err := e.follow(ctx, prefix, out)
			if ctx.Err() != nil {
				return
			}
			e.options.Log.Debug("watch of the store broke, starting it again", "prefix", prefix, "error", err)
			wait = min(2*wait+100*time.Millisecond, time.Second)
			switch {
			case began:
				wait = 50 * time.Millisecond
				e.health.probeNow()
			case errors.Is(err, heddle.StoreRefused.Sentinel()):
				wait = refusedPause // a host that was removed keeps asking for a long time
			}
			pause(ctx, wait)
		}
	}()
	return out
}

const refusedPause = 5 * time.Second

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

var errCompacted = errors.New("the changes since the snapshot were compacted away")

// follow sends a snapshot and the changes after it, until the stream breaks. It reports
// whether it got as far as the changes.
func (e *Etcd) follow(ctx context.Context, prefix string, out chan<- Event) (began bool, err error) {
	s, err := e.Read(ctx, prefix)
	if err != nil {
		return false, err
	}
	if !send(ctx, out, Event{Revision: s.Revision, Snapshot: true, Entries: s.Entries}) {
		return false, ctx.Err()
	}
	log := e.options.Log.With("prefix", prefix, "revision", s.Revision)
	log.Debug("watch of the store has its snapshot", "entries", len(s.Entries))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// A member without a leader must not keep the stream open in silence.
	stream, err := etcdserverpb.NewWatchClient(e.client.ActiveConnection()).Watch(clientv3.WithRequireLeader(ctx))
	if err != nil {
		return false, err
	}
	key, end := keyRange(prefix)
	// The watch starts at the snapshot's own revision, which is then left out: a watch that
	// starts in the future gets no answer to a progress request.
	create := &etcdserverpb.WatchCreateRequest{Key: key, RangeEnd: end, StartRevision: s.Revision, Fragment: true}
	err = stream.Send(&etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_CreateRequest{CreateRequest: create}})
	if err != nil {
		return false, err
	}
	log.Debug("watch of the store is asked for")
	var waiting atomic.Int64
	go requestProgress(ctx, cancel, stream, &waiting)
	return receive(ctx, stream, &waiting, s.Revision, out)
}

// requestProgress makes the server show now and then that it is alive, and ends the stream if it is
// not. waiting is the time since when the receiver has been waiting.
func requestProgress(ctx context.Context, cancel context.CancelFunc, stream etcdserverpb.Watch_WatchClient, waiting *atomic.Int64) {
	defer cancel()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if since := waiting.Load(); since != 0 && time.Since(time.Unix(0, since)) > 2*progressEvery {
			return
		}
		if stream.Send(&etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_ProgressRequest{ProgressRequest: &etcdserverpb.WatchProgressRequest{}}}) != nil {
			return
		}
	}
}

const progressEvery = 3 * time.Second

// receive sends the changes after the revision.
func receive(ctx context.Context, stream etcdserverpb.Watch_WatchClient, waiting *atomic.Int64, after int64, out chan<- Event) (began bool, err error) {
	var gathered []*mvccpb.Event
	for {
		waiting.Store(time.Now().UnixNano())
		r, err := stream.Recv()
		waiting.Store(0)
		switch {
		case err != nil:
			return began, err
		case r.CompactRevision != 0:
			return began, errCompacted
		case r.Canceled:
			return began, errors.New(r.CancelReason)
		}
		began = true
		gathered = append(gathered, r.Events...)
		if r.Fragment {
			continue
		}
		for _, event := range byRevision(gathered) {
			if event.Revision > after && !send(ctx, out, event) {
				return began, ctx.Err()
			}
		}
		gathered = nil
	}
}

// byRevision makes one event of all changes at one revision.
func byRevision(changes []*mvccpb.Event) []Event {
	var all []Event
	for _, c := range changes {
		if len(all) == 0 || all[len(all)-1].Revision != c.Kv.ModRevision {
			all = append(all, Event{Revision: c.Kv.ModRevision})
		}
		last := &all[len(all)-1]
		if c.Type == mvccpb.Event_DELETE {
			last.Deleted = append(last.Deleted, string(c.Kv.Key))
		} else {
			last.Entries = append(last.Entries, entry(c.Kv))
		}
	}
	return all
}

func send(ctx context.Context, out chan<- Event, event Event) bool {
	select {
	case out <- event:
		return true
	case <-ctx.Done():
		return false
	}
}
