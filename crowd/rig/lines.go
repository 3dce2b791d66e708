package rig

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/round"
)

// lines is what the crowd's program says: notes, what the round has come to, replies to orders, a line each, and an error,
// which is a document.
type lines struct {
	notes func(string)
	live  func(round.Live)
	reply func(Reply)
	rest  []byte
	other []byte
}

// The marks with which lines begin.
const (
	noteMark = "heddle: "
	LiveMark = "heddle-live: " // and then a round.Live in JSON
	// replyMark is before a Reply in JSON.
	replyMark = "heddle-reply: "
)

func (l *lines) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		l.line(line)
		l.rest = rest
	}
}

func (l *lines) line(line []byte) {
	if note, is := bytes.CutPrefix(line, []byte(noteMark)); is {
		l.notes(string(note))
	} else if text, is := bytes.CutPrefix(line, []byte(LiveMark)); is {
		var now round.Live
		if json.Unmarshal(text, &now) == nil {
			l.live(now)
		}
	} else if text, is := bytes.CutPrefix(line, []byte(replyMark)); is {
		var r Reply
		if json.Unmarshal(text, &r) == nil {
			l.reply(r)
		}
	} else {
		l.other = append(append(l.other, line...), '\n')
	}
}

// orElse is the error that the program wrote, if it failed; or how it ended.
func (l *lines) orElse(failed error, network string) error {
	if failed == nil {
		return nil
	}
	e := &heddle.Error{}
	if json.Unmarshal(l.other, e) == nil && e.Op != "" {
		return e
	}
	return heddle.Wrap(heddle.CrowdFailed, "play crowd on network", network,
		fmt.Errorf("%w: %s", failed, bytes.TrimSpace(append(l.other, l.rest...))), "see the message")
}
