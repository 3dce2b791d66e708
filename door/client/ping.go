package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ping"
)

// PathPing sends echoes from an endpoint's container. The answer is a stream: JSON, a ping.Line a line.
const PathPing = "/v1/ping"

// Ping sends echoes from an endpoint's container, and tells each line of the answer; the summary is the last. The echoes end with ctx. An echo
// that nobody answers is no error.
func (c *Client) Ping(ctx context.Context, q ping.Request, tell func(ping.Line) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// A stream has no time limit, only its beginning has.
	slow := time.AfterFunc(headerTime, cancel)
	resp, err := c.do(ctx, &http.Client{Transport: c.http.Transport}, http.MethodPost, PathPing, q)
	slow.Stop()
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for lines := json.NewDecoder(resp.Body); ; {
		var l ping.Line
		err := lines.Decode(&l)
		switch {
		case errors.Is(err, context.Canceled):
			return err
		case err != nil:
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return heddle.Wrap(heddle.AgentDown, "read echoes from agent", c.socket, fmt.Errorf("the agent has ended: %w", err), "ping again when it is back")
		case l.Error != nil:
			return l.Error
		}
		if err := tell(l); err != nil || l.Summary != nil {
			return err
		}
	}
}
