package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

const (
	// watchTime is how long a watch waits for a change. It is shorter than any request may wait.
	watchTime = 15 * time.Second
	// maxWatches is how many watches of one machine wait at a time. One of an agent that was killed may be among them.
	maxWatches = 2
	// portsAgain is how soon the ports are watched again after an error.
	portsAgain = 2 * time.Second
)

// changes tells those who wait for the next change of something.
type changes struct {
	mu   sync.Mutex
	next chan struct{}
}

func newChanges() *changes { return &changes{next: make(chan struct{})} }

// wait returns a channel that is closed with the next change.
func (c *changes) wait() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}

func (c *changes) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.next)
	c.next = make(chan struct{})
}

// Watch is nic.Provider.Watch.
func (s *Service) Watch(ctx context.Context, machine, since string) (now string, err error) {
	g, err := s.guest(machine)
	if err != nil {
		return "", err
	}
	select {
	case g.watches <- struct{}{}:
		defer func() { <-g.watches }()
	default:
		return "", heddle.Errorf(heddle.Waited, "watch NICs of", machine, heddle.Count(maxWatches, "watch")+" of the machine wait already", "ask again when one has ended")
	}
	ctx, cancel := context.WithTimeout(ctx, watchTime)
	defer cancel()
	for {
		changed := g.changes.wait()
		now, err := s.version(context.WithoutCancel(ctx), machine)
		if err != nil || now != since {
			return now, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return now, nil
		}
	}
}

// version is a hash of what the machine is told of its NICs. It is the same in the service's next life.
func (s *Service) version(ctx context.Context, machine string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, waitTime)
	defer cancel()
	all, err := s.List(ctx, machine)
	if err != nil {
		return "", err
	}
	offer, err := s.Describe(ctx, machine)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(struct {
		NICs  []nic.Card
		Offer nic.Offer
	}{all, offer})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), err
}

// keepWatching tells machines of changes of their ports until ctx ends, whoever has made them.
func (s *Service) keepWatching(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.ports.Watch(ctx, s.portChanged)
		if ctx.Err() == nil {
			s.log.Debug("ports are not watched; it is tried again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(portsAgain):
		}
		s.tellAll() // some may have been missed
	}
}

// portChanged tells a machine that a port of it has changed. The device of one that has gone is taken out.
func (s *Service) portChanged(machine string, gone bool) {
	g := s.guests[machine]
	if g == nil {
		return
	}
	g.changes.tell()
	if gone {
		select {
		case g.compareSoon <- struct{}{}:
		default: // it is asked for already
		}
	}
}

// tellAll tells all machines that something may have changed.
func (s *Service) tellAll() {
	for _, g := range s.guests {
		g.changes.tell()
	}
}

// record records a port's move, which concerns machines that the port may name no more.
func (s *Service) record(ctx context.Context, p Port) error {
	defer s.tellAll()
	return s.ports.Keep(ctx, p)
}
