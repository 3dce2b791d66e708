package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// plugged is the card of a NIC that is plugged in.
func plugged(p Port, machine string) nic.Card {
	card, _ := p.cardFor(machine, time.Now())
	card.Plugged = true
	return card
}

// connect plugs the NIC of a port in, limited as is due for the machine, and returns the port. A port that was made for one pair of queues keeps that, wherever it goes. Of one for several, its machine's configuration says how many are used.
func (s *Service) connect(ctx context.Context, g *guest, m Machine, port Port) (Port, error) {
	port, err := s.limited(ctx, g, port)
	if err != nil {
		return port, err
	}
	queues := 1
	if port.MultiQueue {
		queues = g.Queues()
	}
	return port, m.Plug(ctx, port.TAP, port.Card.MAC, port.Card.MTU, queues, port.MultiQueue, func(n int) ([]*os.File, error) { return s.ports.Open(port, n) })
}

// undo takes back what a failed plug has made: the device, which may be there, and then its port, if it is new. It
// returns why. A port goes also where the device does not: without its TAP the device has no network, and the next
// Plug or Reconcile unplugs it.
func (s *Service) undo(ctx context.Context, m Machine, port Port, made bool, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	err := m.Unplug(ctx, port.TAP)
	if made {
		err = errors.Join(err, s.ports.Remove(ctx, port))
	}
	return undone("plugging", port, err, why)
}

// undone is why something failed, or the error of its undoing.
func undone(what string, port Port, err, why error) error {
	if err == nil {
		return why
	}
	return heddle.Errorf(heddle.UndoFailed, "undo "+what+" of NIC", port.Machine+"/"+port.Card.Token,
		fmt.Sprintf("%s; it was being undone since: %s", heddle.SentenceOf(err), heddle.SentenceOf(why)), "plug it again, or unplug it")
}
