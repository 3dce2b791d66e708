package api

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/door/wire"
	"github.com/heddle-network/heddle/ping"
)

// handlePing adds the call that sends echoes from a container.
func (s *Server) handlePing() { s.mux.HandleFunc("POST "+client.PathPing, s.ping) }

// ping streams the lines of a ping, which ends when its caller goes away or the server ends.
func (s *Server) ping(w http.ResponseWriter, r *http.Request) {
	var q ping.Request
	if err := wire.Read(r, maxBody, &q); err != nil {
		wire.Write(w, nil, err)
		return
	}
	ctx, cancel := s.untilEnding(r)
	defer cancel()
	flow, begun := http.NewResponseController(w), false
	tell := func(l ping.Line) error {
		if !begun {
			w.Header().Set("Content-Type", "application/x-ndjson")
			begun = true
		}
		if err := flow.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
			return err
		}
		if err := json.NewEncoder(w).Encode(l); err != nil {
			return err
		}
		return flow.Flush()
	}
	err := s.agent.Ping(ctx, q, tell)
	if err != nil && s.ending.Err() != nil {
		err = heddle.Errorf(heddle.Stopping, "ping from", q.ID.String(), "", "ping again when the agent is back")
	}
	switch {
	case err == nil:
	case begun:
		tell(ping.Line{Error: heddle.ErrorOf("ping", err)})
	default:
		wire.Write(w, nil, err)
	}
}
