package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
)

// PathEvents is a stream of what happens: JSON, an EventLine a line.
const PathEvents = "/v1/events"

// PathFlows is such a stream of what policies have refused lately.
const PathFlows = "/v1/flows"

// The names in the query of PathEvents; lists take QueryFilter, too.
const (
	QuerySince  = "since"
	QueryFilter = "filter"
	QueryFollow = "follow"
)

// headerTime is how long an agent may take to begin a stream.
const headerTime = 2 * time.Minute

// EventQuery is which events are wanted.
type EventQuery struct {
	// Since is the cursor after which to begin, or a duration before now ("10m"), or "all"
	// for all events that are kept, or "" for future events only.
	Since string
	// Filter has words such as "kind=endpoint" and "label=app=web".
	Filter []string
	// Once ends the stream after the last present event. Without Since, all events that are
	// kept are sent.
	Once bool
}

// EventLine is a line of the stream: an event; or a cursor that is later than the last
// event's (the first line, and after a filter has left out many); or why the stream ends.
type EventLine struct {
	*events.Event
	Bookmark string        `json:"bookmark,omitempty"`
	Error    *heddle.Error `json:"error,omitempty"`
}

// EventStream is a stream of events. Only one goroutine may use it. It has to be closed.
type EventStream struct {
	socket string
	body   io.ReadCloser
	lines  *json.Decoder
	once   bool
	cancel context.CancelFunc
	cursor string
}

// Events starts to watch. Everything that happens after it returns is in the stream.
func (c *Client) Events(ctx context.Context, q EventQuery) (*EventStream, error) {
	return c.stream(ctx, PathEvents, q)
}

// Flows starts to watch what policies refuse.
func (c *Client) Flows(ctx context.Context, q EventQuery) (*EventStream, error) {
	return c.stream(ctx, PathFlows, q)
}

func (c *Client) stream(ctx context.Context, path string, q EventQuery) (*EventStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	values := url.Values{QueryFilter: q.Filter}
	if q.Since != "" {
		values.Set(QuerySince, q.Since)
	}
	if q.Once {
		values.Set(QueryFollow, "false")
	}
	// A stream has no time limit, only its beginning has.
	long := &http.Client{Transport: c.http.Transport}
	slow := time.AfterFunc(headerTime, cancel)
	resp, err := c.do(ctx, long, http.MethodGet, path+"?"+values.Encode(), nil)
	slow.Stop()
	if err != nil {
		cancel()
		return nil, err
	}
	s := &EventStream{socket: c.socket, body: resp.Body, lines: json.NewDecoder(resp.Body), once: q.Once, cancel: cancel}
	var first EventLine
	if err := s.lines.Decode(&first); err != nil {
		return nil, errors.Join(s.broken(err), s.Close())
	}
	s.cursor = first.Bookmark
	return s, nil
}

// Cursor is the stream's position: another stream may continue from there.
func (s *EventStream) Cursor() string { return s.cursor }

// Next waits for the next event. io.EOF is the end of a stream that has one. An error of
// code EventsLost says that some events are lost for good.
func (s *EventStream) Next() (events.Event, error) {
	for {
		var line EventLine
		err := s.lines.Decode(&line)
		switch {
		case err != nil:
			return events.Event{}, s.broken(err)
		case line.Error != nil:
			return events.Event{}, line.Error
		case line.Event != nil && line.Kind != "":
			s.cursor = line.Cursor
			return *line.Event, nil
		case line.Bookmark != "":
			s.cursor = line.Bookmark
		}
	}
}

// broken is the error for a stream that cannot be read: it has ended, its caller has
// stopped it, or it was cut off.
func (s *EventStream) broken(err error) error {
	if errors.Is(err, io.EOF) && s.once || errors.Is(err, context.Canceled) {
		return err
	}
	return heddle.Wrap(heddle.AgentDown, "read events from agent", s.socket,
		fmt.Errorf("the agent has ended, or has cut off a slow reader: %w", err), "watch again after the last cursor")
}

// Close ends the stream.
func (s *EventStream) Close() error {
	s.cancel()
	return s.body.Close()
}
