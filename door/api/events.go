package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/door/wire"
	"github.com/heddle-network/heddle/events"
)

const (
	// writeTime is how long a watcher may not read before it is disconnected;
	// shutdownWriteTime is that time when the server ends.
	writeTime, shutdownWriteTime = 30 * time.Second, time.Second
	// bookmarkAfter is how many events a filter leaves out before the caller gets its
	// current cursor.
	bookmarkAfter = 256
)

// handleEvents adds the streams of events and of flows.
func (s *Server) handleEvents() {
	add := func(path string, log func() (*events.Log, error), filter func([]string) (heddle.Filter, error)) {
		s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			if err := s.streamEvents(w, r, log, filter); err != nil {
				wire.Write(w, nil, err)
			}
		})
	}
	add(client.PathEvents, func() (*events.Log, error) { return s.agent.Events(), nil }, events.ParseFilter)
	add(client.PathFlows, s.agent.Flows, events.ParseFlowFilter)
}

// streamEvents streams the events of a log until the caller disconnects or the server ends. It returns an
// error only before anything was sent.
func (s *Server) streamEvents(w http.ResponseWriter, r *http.Request, of func() (*events.Log, error), parse func([]string) (heddle.Filter, error)) error {
	q := r.URL.Query()
	filter, err := parse(q[client.QueryFilter])
	if err != nil {
		return err
	}
	follow, err := flag(r, client.QueryFollow, true)
	if err != nil {
		return err
	}
	since := q.Get(client.QuerySince)
	if since == "" && !follow {
		since = events.SinceAll
	}
	log, err := of()
	if err != nil {
		return err
	}
	watcher, err := log.Watch(since)
	if err != nil {
		return err
	}
	defer watcher.Close()
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := newEventStream(s.ending, w)
	defer out.stop()
	ctx, cancel := s.untilEnding(r)
	defer cancel()
	err = out.sendCursor(watcher) // shows the caller that the stream has begun
	for err == nil {
		var all []events.Event
		all, err = watcher.Read()
		if err == nil && len(all) == 0 {
			if !follow {
				out.sendCursor(watcher)
				return nil
			}
			all, err = watcher.Next(ctx)
		}
		if err != nil {
			out.fail(err)
			return nil
		}
		err = out.send(all, filter)
		if err == nil && out.leftOut >= bookmarkAfter {
			err = out.sendCursor(watcher)
		}
	}
	return nil // the caller does not read
}

// eventStream writes lines. It is cut off when the server ends or nobody reads.
type eventStream struct {
	w        http.ResponseWriter
	flow     *http.ResponseController
	shutdown context.Context
	stop     func() bool
	// leftOut counts the events since the last line.
	leftOut int
}

func newEventStream(shutdown context.Context, w http.ResponseWriter) *eventStream {
	flow := http.NewResponseController(w)
	return &eventStream{w: w, flow: flow, shutdown: shutdown, stop: context.AfterFunc(shutdown, func() { flow.SetWriteDeadline(time.Now().Add(shutdownWriteTime)) })}
}

// send writes the events that pass the filter.
func (s *eventStream) send(all []events.Event, filter heddle.Filter) error {
	var lines []client.EventLine
	for i := range all {
		s.leftOut++
		if all[i].Matches(filter) {
			lines, s.leftOut = append(lines, client.EventLine{Event: &all[i]}), 0
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return s.write(lines)
}

// sendCursor writes the watcher's cursor.
func (s *eventStream) sendCursor(w *events.Watcher) error {
	s.leftOut = 0
	return s.write([]client.EventLine{{Bookmark: w.Cursor()}})
}

// fail says why the stream ends, if the caller is still connected.
func (s *eventStream) fail(why error) {
	if s.shutdown.Err() != nil {
		why = heddle.Errorf(heddle.Stopping, "watch events", "", "", "watch again when the agent is back")
	}
	var e *heddle.Error
	if errors.As(why, &e) {
		s.write([]client.EventLine{{Error: e}})
	}
}

func (s *eventStream) write(lines []client.EventLine) error {
	timeout := writeTime
	if s.shutdown.Err() != nil {
		timeout = shutdownWriteTime
	}
	if err := s.flow.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	enc := json.NewEncoder(s.w)
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return s.flow.Flush()
}
