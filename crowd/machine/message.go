package machine

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/heddle-network/heddle/crowd/diary"
)

// Port is where a part listens for the others.
const Port = 7601

// Roster is who is in a part, and where.
type Roster struct {
	// Users have the addresses of each, by number.
	Users    map[int][]netip.Addr `json:"users"`
	Services map[string]Place     `json:"services"`
}

// Place is where a service is, and the name that users ask for.
type Place struct {
	Addrs []netip.Addr `json:"addrs"`
	Name  string       `json:"name,omitempty"`
}

// Ring asks a part to have one of its users, or its service, talk with a user of another part.
type Ring struct {
	// User is who is called; 0 is the service for calls.
	User int `json:"user"`
	// From is where the caller hears.
	From netip.AddrPort `json:"from"`
	// Every so often a packet of so many bytes goes to the caller, as long as the call lasts. In nanoseconds.
	Every time.Duration `json:"every"`
	Size  int64         `json:"size"`
	Lasts time.Duration `json:"lasts"`
	// Of is the caller's step.
	Of diary.Where `json:"of"`
}

// Heard is what one end of a call has sent, and what became of what the other one has.
type Heard struct {
	Sent  int           `json:"sent"`
	Delay time.Duration `json:"delay"` // mouth to ear, in nanoseconds
	Lost  float64       `json:"lost"`  // the share that was not played
}

// request is a line that a part sends to another one. One field is there.
type request struct {
	// Meet is the first one of a connection that lasts.
	Meet *meet `json:"meet,omitempty"`
	// Time asks for the time, and says whether all has been played.
	Time *ask `json:"time,omitempty"`
	// Ring begins a call, for which the connection is; Bye ends it.
	Ring *Ring  `json:"ring,omitempty"`
	Bye  *Heard `json:"bye,omitempty"`
}

type meet struct {
	Meeting
	Part Part `json:"part"`
}

type ask struct {
	Done bool `json:"done,omitempty"`
}

// answer is the line that answers a request.
type answer struct {
	Refused string  `json:"refused,omitempty"`
	Roster  *Roster `json:"roster,omitempty"`
	// Came and Went are when a question for the time came, and was answered, since the crowd's begin.
	Came time.Duration `json:"came,omitempty"`
	Went time.Duration `json:"went,omitempty"`
	// At is where who is called hears.
	At    *netip.AddrPort `json:"at,omitempty"`
	Heard *Heard          `json:"heard,omitempty"`
}

const (
	// maxLine bounds a line: the roster of a million users, with two addresses each.
	maxLine = 128 << 20
	// maxRequest bounds what another part may ask.
	maxRequest = 4 << 10
	// answerTime is how long another part may take for an answer, before it counts as gone. No source: a guess.
	answerTime = 5 * time.Second
)

// line is a connection on which each message is a line of JSON.
type line struct {
	net.Conn
	in *bufio.Reader
}

func newLine(c net.Conn) *line { return &line{c, bufio.NewReader(c)} }

func (l *line) write(message any) error {
	text, err := json.Marshal(message)
	if err == nil {
		_, err = l.Write(append(text, '\n'))
	}
	return err
}

// read takes a message of a bounded size.
func (l *line) read(message any, most int) error {
	var text []byte
	for {
		some, err := l.in.ReadSlice('\n')
		if text = append(text, some...); len(text) > most {
			return fmt.Errorf("a message has more than %d bytes", most)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
	return json.Unmarshal(text, message)
}

// ask sends a request, and takes the answer.
func (l *line) ask(q request, most int) (a answer, err error) {
	if err = l.SetDeadline(time.Now().Add(answerTime)); err == nil {
		err = l.write(q)
	}
	if err == nil {
		err = l.read(&a, most)
	}
	if err == nil && a.Refused != "" {
		err = errors.New(a.Refused)
	}
	return a, err
}
