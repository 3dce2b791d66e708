package live

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/event"
)

// request is what a run is asked, a line of JSON. One of its fields is given.
type request struct {
	// Show asks for the run.
	Show bool `json:"show,omitempty"`
	// Command tells the run something.
	Command *event.Command `json:"command,omitempty"`
	// End ends the run, as Ctrl-C does. The reply comes when the run has ended, and is empty.
	End bool `json:"end,omitempty"`
}

// one reports whether it asks one thing.
func (q request) one() bool {
	asked := 0
	for _, is := range []bool{q.Show, q.Command != nil, q.End} {
		if is {
			asked++
		}
	}
	return asked == 1
}

// reply is what a run answers.
type reply struct {
	Run *Run `json:"run,omitempty"`
	event.Done
	Error *heddle.Error `json:"error,omitempty"`
}

// The longest request, and the longest reply, in bytes.
const (
	mostRequest = 64 << 10
	mostReply   = 1 << 20
)

// readRequest reads one, and refuses what is none.
func readRequest(from io.Reader) (q request, err error) {
	line, err := bufio.NewReader(io.LimitReader(from, mostRequest)).ReadBytes('\n')
	switch {
	case len(line) == mostRequest:
		err = fmt.Errorf("it is longer than %d bytes", mostRequest-1)
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		err = d.Decode(&q)
	}
	if err == nil && !q.one() {
		err = errors.New("it asks nothing, or two things")
	}
	if err != nil {
		return q, heddle.Wrap(heddle.BadJSON, "read request to", "a crowd", err, "use the version of heddle that plays the crowd")
	}
	return q, nil
}

// errorOf is an error as a document.
func errorOf(err error) *heddle.Error {
	var known *heddle.Error
	if errors.As(heddle.Wrap(heddle.CrowdFailed, "tell crowd", "", err, ""), &known) {
		return known
	}
	return nil
}
