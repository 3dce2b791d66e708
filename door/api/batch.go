package api

import (
	"context"
	"net/http"

	"github.com/heddle-network/heddle/door/client"
)

// handleBatch adds the call for many endpoints. It begins no further one when its caller has gone, who may be detaching
// them already, or when the server ends.
func (s *Server) handleBatch() {
	shutdown, end := context.WithCancel(context.Background())
	s.http.RegisterOnShutdown(end)
	s.mux.HandleFunc("POST "+client.PathAttachBatch, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(shutdown, cancel)()
		withBody(func(_ context.Context, q client.AttachBatchRequest) (any, error) {
			results, err := s.agent.AttachBatch(ctx, q.Endpoints)
			return client.AttachBatchReply{Results: results}, err
		})(w, r)
	})
}
