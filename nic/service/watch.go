package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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
	// watchRest is how long is waited after a change for what may change with it, portsAgain how soon the ports are watched again after
	// an error.
	watchRest, portsAgain = 200 * time.Millisecond, 2 * time.Second
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
		return "", heddle.Errorf(heddle.Waited, "watch NICs of", machine, fmt.Sprintf("%d watches of the machine wait already", maxWatches), "ask again when one has ended")
	}
	ctx, cancel := context.WithTimeout(ctx, watchTime)
	defer cancel()
	for {
		changed := g.changes.wait()
		now, err := s.version(context.WithoutCancel(ctx), machine)
		if err != nil || now != since || ctx.Err() != nil {
			return now, err
		}
		select {
		case <-changed:
			pause(ctx, watchRest)
		case <-ctx.Done():
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
	var all sync.WaitGroup
	for _, w := range s.ports.Watches() {
		all.Go(func() { s.keepWatch(ctx, w) })
	}
	all.Wait()
}

// keepWatch begins a watch again when it has ended.
func (s *Service) keepWatch(ctx context.Context, w Watch) {
	told := ""
	for ctx.Err() == nil {
		err := w(ctx, s.allChanged, s.portChanged)
		if now := err.Error(); now != told && ctx.Err() == nil {
			s.log.Warn("ports are not watched; machines learn of changes some seconds later", "error", err)
			told = now
		}
		pause(ctx, portsAgain)
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

// allChanged says of all machines that ports may have changed or gone.
func (s *Service) allChanged() {
	for name := range s.guests {
		s.portChanged(name, true)
	}
}

// record records a port's move, and tells the machines that it concerns, or did before.
func (s *Service) record(ctx context.Context, p Port, before ...string) error {
	defer func() {
		for _, name := range append(before, p.Machine, p.Move.To) {
			s.portChanged(name, false)
		}
	}()
	return s.ports.Keep(ctx, p)
}

func pause(ctx context.Context, long time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(long):
	}
}
