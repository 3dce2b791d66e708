package api

import (
	"context"
	"net/http"

	"github.com/heddle-network/heddle/door/client"
)

// What changes something, or in a dry run says how.

func (s *Server) allow(_ context.Context, q client.AllowRequest) (r any, err error) {
	switch {
	case q.DryRun:
		commands, err := s.agent.PermissionCommands(q.First, q.Second, !q.Off)
		return client.CommandsReply{Commands: commands}, err
	case q.Off:
		err = s.agent.Disallow(q.First, q.Second)
	default:
		err = s.agent.Allow(q.First, q.Second)
	}
	return client.CommandsReply{}, err
}

// attachBatch begins no further endpoint when its caller has gone, who may be detaching them already, or when the server ends.
func (s *Server) attachBatch(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := s.untilEnding(r)
	defer cancel()
	withBody(func(_ context.Context, q client.AttachBatchRequest) (any, error) {
		results, err := s.agent.AttachBatch(ctx, q.Endpoints)
		return client.AttachBatchReply{Results: results}, err
	})(w, r)
}

func (s *Server) detach(ctx context.Context, q client.DetachRequest) (any, error) {
	var r client.DetachReply
	var err error
	if q.DryRun {
		r.Commands, r.Found, err = s.agent.DetachCommands(ctx, q.EndpointID)
	} else {
		r.Found, err = s.agent.Detach(ctx, q.EndpointID)
	}
	return r, err
}

func (s *Server) move(ctx context.Context, q client.MoveRequest) (any, error) {
	var r client.MoveReply
	var err error
	if q.DryRun {
		r.Endpoint, r.Commands, err = s.agent.MoveCommands(ctx, q.ID, q.To)
	} else {
		r.Endpoint, err = s.agent.Move(ctx, q.ID, q.To)
	}
	return r, err
}

func (s *Server) gc(ctx context.Context, q client.GCRequest) (any, error) {
	var r client.GCReply
	var err error
	if q.DryRun {
		r.Removed, err = s.agent.Garbage(q.Owner, q.Keep)
	} else {
		r.Removed, err = s.agent.GC(ctx, q.Owner, q.Keep)
	}
	return r, err
}
