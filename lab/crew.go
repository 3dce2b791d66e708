package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/heddle-network/heddle"
)

// crew is all inits of a lab while it is made.
type crew []*beginning

const reportReady = "ready"

// close lets go of the inits: those that were not told to stay end.
func (c crew) close() {
	for _, in := range c {
		in.say.Close()
	}
}

func (c crew) tell(word byte) error {
	for _, in := range c {
		if _, err := in.say.Write([]byte{word}); err != nil {
			return heddle.Wrap(heddle.LabFailed, "talk to init of", in.host.Name, fmt.Errorf("it has ended: %w", err), "")
		}
	}
	return nil
}

// furnish lets all hosts mount their folders and start their agents, side by
// side, and waits until they have.
func (c crew) furnish(ctx context.Context) error {
	if err := c.tell(wordGo); err != nil {
		return err
	}
	for _, in := range c {
		if err := in.awaitReady(ctx); err != nil {
			return heddle.Wrap(heddle.LabFailed, "set up host", in.host.Name, err, "")
		}
	}
	return nil
}

func (in *beginning) awaitReady(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case line, open := <-in.reports:
		switch {
		case !open:
			return errors.New("its init ended")
		case line != reportReady:
			return errors.New(strings.TrimSpace(line))
		}
		return nil
	}
}
