package process

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"time"
)

// Status is what a resolver says of itself, in StatusFile.
type Status struct {
	Version string    `json:"version"`
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
	// Serves are the addresses where containers are answered, Fails those where they are not.
	Serves []netip.Addr `json:"serves"`
	Fails  []Fail       `json:"fails,omitempty"`
	// Unread are the files of networks that could not be read. What they said before holds on.
	Unread []Unread `json:"unread,omitempty"`
	// Networks is the number of networks whose names are answered.
	Networks int `json:"networks"`
	// Upstreams are the name servers that other questions go to.
	Upstreams []netip.AddrPort `json:"upstreams,omitempty"`
	// Forwards are the name servers of single domains.
	Forwards map[string][]netip.AddrPort `json:"forwards,omitempty"`
	Counts   Counts                      `json:"counts"`
	// Denied are the containers with most questions that were not answered in the last minute or two,
	// at most 20.
	Denied []Denied `json:"denied,omitempty"`
}

// Fail is an address that is not served, and why.
type Fail struct {
	Addr  netip.Addr `json:"addr"`
	Cause string     `json:"cause"`
}

// Unread is a file that could not be read, and why.
type Unread struct {
	File  string `json:"file"`
	Cause string `json:"cause"`
}

// Denied counts a container's questions that were not answered lately, by the reason.
type Denied struct {
	// Container is the endpoint's Pod in the file of a network, or its ID's container.
	Container string `json:"container"`
	// NoWayOut are those for the host's name servers while no network of the container has a way out.
	NoWayOut uint64 `json:"noWayOut,omitempty"`
	// TooFast are those over the rate, Waiting those that came while as many as may wait waited for name
	// servers, Connections the connections beyond those that it may have.
	TooFast     uint64 `json:"tooFast,omitempty"`
	Waiting     uint64 `json:"waiting,omitempty"`
	Connections uint64 `json:"connections,omitempty"`
}

// Total are all of them.
func (d Denied) Total() uint64 { return d.NoWayOut + d.TooFast + d.Waiting + d.Connections }

// Counts is what a resolver has done since its start. All but Forwarded, Failed and Wrong say how a
// question was answered, so each is counted once.
type Counts struct {
	// Answered are the questions with an answer of our own, also that there is no such name.
	Answered uint64 `json:"answered"`
	// Forwarded are those that were passed on; Failed of them got no answer.
	Forwarded uint64 `json:"forwarded"`
	Failed    uint64 `json:"failed"`
	// Refused are those of containers without a way out that would be forwarded.
	Refused uint64 `json:"refused"`
	// Limited are those over a container's limits.
	Limited uint64 `json:"limited"`
	// Foreign are packets and connections of sources that may not ask; Malformed are packets
	// that are no questions, or of a kind that is not answered.
	Foreign   uint64 `json:"foreign"`
	Malformed uint64 `json:"malformed"`
	// Wrong are packets in the name of a name server that answer no question: late ones, and forged ones.
	Wrong uint64 `json:"wrong"`
}

// StatusPath is where the resolver of a folder writes its status.
func StatusPath(dir string) string { return filepath.Join(dir, StatusFile) }

// ReadStatus returns what the resolver of a folder has said last; nil if there is nothing. It may
// be dead: see Find.
func ReadStatus(dir string) (*Status, error) {
	text, err := os.ReadFile(StatusPath(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &Status{}
	return s, json.Unmarshal(text, s)
}

// Write replaces the status in a folder.
func (s Status) Write(dir string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	path := StatusPath(dir)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
