package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
)

// A relay is a process between a host's port and the bridge of its switch. It impairs the
// frames that pass. It runs in the switch's namespaces and ends with the switch. If it dies
// alone, the host is cut off.
//
//	host1: eth0 ══ host1 ── packet socket ── relay ── TAP host1~ ══ bridge

// settings are a relay's settings, and report is its answer.
type settings struct {
	Out Impairment `json:"out"`
	In  Impairment `json:"in"`
}

type report struct {
	Out Count `json:"out"`
	In  Count `json:"in"`
}

func relayProgram(port string) string { return "relay-" + port }

// relaySocket returns the path of a relay's socket in the switch.
func relaySocket(port string) string { return "/run/" + relayProgram(port) + ".sock" }

// relay runs a relay. It returns only when it has failed.
func relay(port string) error {
	wire, err := openPort(port)
	if err != nil {
		return fmt.Errorf("open the port %s: %w", port, err)
	}
	tap, err := openTAP(relayPort(port))
	if err != nil {
		return fmt.Errorf("open the TAP %s: %w", relayPort(port), err)
	}
	os.Remove(relaySocket(port))
	l, err := net.Listen("unix", relaySocket(port))
	if err != nil {
		return err
	}
	out, in := newRelayDirection(1), newRelayDirection(2)
	broken := make(chan error, 1)
	run := func(f func() error) { go func() { broken <- f() }() }
	run(func() error { return out.read(wire.next) })
	run(func() error { return out.write(tap) })
	run(func() error { return in.read(fromTAP(tap)) })
	run(func() error { return in.write(wire) })
	run(func() error { return serveSettings(l, out, in) })
	return <-broken
}

// serveSettings takes settings, one connection at a time.
func serveSettings(l net.Listener, out, in *relayDirection) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		var s *settings
		if json.NewDecoder(c).Decode(&s) == nil {
			if s != nil {
				out.set(s.Out)
				in.set(s.In)
			}
			json.NewEncoder(c).Encode(report{out.counted(), in.counted()})
		}
		c.Close()
	}
}

// relayDirection is one direction of a relay.
type relayDirection struct {
	stream  uint64
	mu      sync.Mutex
	decider *decider
	count   Count
	queue   *queue
	full    atomic.Uint64 // frames the kernel refused
}

func newRelayDirection(stream uint64) *relayDirection {
	return &relayDirection{stream: stream, decider: newDecider(Impairment{}, stream), queue: newQueue()}
}

// set takes new settings, and starts again from their seed.
func (l *relayDirection) set(i Impairment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.decider = newDecider(i, l.stream)
}

func (l *relayDirection) counted() Count {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.count
	c.Refused = l.full.Load()
	return c
}

// read receives frames, each with its virtio header, until there is an error.
func (l *relayDirection) read(next func() ([]byte, error)) error {
	for {
		b, err := next()
		if err != nil {
			return err
		}
		if len(b) > virtioHeader {
			l.pass(b)
		}
	}
}

// pass decides what happens to one frame, and queues it.
func (l *relayDirection) pass(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, c := l.decider.decide(), &l.count
	c.Frames++
	if f.lose {
		c.Lost++
		return
	}
	if needsChecksum(b) {
		completeChecksum(b, l.decider.SpoilChecksums)
		if l.decider.SpoilChecksums {
			c.Spoiled++
		}
	}
	if f.corrupt {
		flipBit(b, f.bit)
		c.Corrupted++
	}
	if f.late {
		c.Reordered++
	}
	copies := 1
	if f.twice {
		c.Duplicated++
		copies = 2
	}
	for range copies {
		if !l.queue.put(b, f.delay, f.late) {
			c.Overflown++
		}
	}
}

// write sends frames when they are due. A frame that the kernel refuses (the link is down, the
// frame is too large, the queue is full) is lost, as on a wire.
func (l *relayDirection) write(to interface{ Write([]byte) (int, error) }) error {
	for {
		if _, err := to.Write(l.queue.take()); err != nil {
			if errors.Is(err, os.ErrClosed) {
				return err
			}
			l.full.Add(1)
		}
	}
}
