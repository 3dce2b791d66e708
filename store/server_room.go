package store

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// roomEvery is how often the member checks whether it is full.
const roomEvery = 5 * time.Second

// makeRoom compacts a member that is full, defragments one that is full or wastes space,
// and ends the alarm if that was enough. Etcd leaves this to an operator, but an embedded
// member has none.
func (s *Server) makeRoom(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	server := s.etcd.Server
	backend := server.Backend()
	wasted := backend.Size() > s.options.Quota/2 && backend.SizeInUse() < backend.Size()/2
	full := s.alarmed()
	if !full && !wasted {
		return
	}
	if full {
		if _, err := server.Compact(ctx, &etcdserverpb.CompactionRequest{Revision: server.KV().Rev(), Physical: true}); err != nil {
			s.options.Log.Debug("compact the store", "error", err) // nothing new to compact
		}
	}
	if backend.SizeInUse() > s.options.Quota*3/4 {
		return // nothing was deleted
	}
	if err := server.Defragment(); err != nil {
		s.options.Log.Warn("defragment the store", "error", err)
		return
	}
	if !full {
		return
	}
	disarm := &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_DEACTIVATE, MemberID: s.MemberID(), Alarm: etcdserverpb.AlarmType_NOSPACE}
	if _, err := server.Alarm(ctx, disarm); err != nil {
		s.options.Log.Warn("end the store's alarm", "error", err)
		return
	}
	s.options.Log.Info("the store was full and has room again", "bytes", backend.Size())
}

// alarmed says whether this member has raised the alarm that it is full.
func (s *Server) alarmed() bool {
	for _, a := range s.etcd.Server.Alarms() {
		if a.Alarm == etcdserverpb.AlarmType_NOSPACE && a.MemberID == s.MemberID() {
			return true
		}
	}
	return false
}
