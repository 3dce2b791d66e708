package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/heddle-network/heddle"
)

// initSet holds all inits of a lab while it is made.
type initSet []*initProcess

const reportReady = "ready"

// close closes the pipes to the inits. An init that was not told to stay ends.
func (c initSet) close() {
	for _, in := range c {
		in.commands.Close()
	}
}

func (c initSet) send(word byte) error {
	for _, in := range c {
		if _, err := in.commands.Write([]byte{word}); err != nil {
			return heddle.Wrap(heddle.LabFailed, "talk to init of", in.host.Name, fmt.Errorf("it has ended: %w", err), "")
		}
	}
	return nil
}

// setUp lets all inits set up their hosts at the same time, and waits until they have.
func (c initSet) setUp(ctx context.Context) error {
	if err := c.send(wordGo); err != nil {
		return err
	}
	for _, in := range c {
		if err := in.awaitReady(ctx); err != nil {
			return heddle.Wrap(heddle.LabFailed, "set up host", in.host.Name, err, "")
		}
	}
	return nil
}

func (in *initProcess) awaitReady(ctx context.Context) error {
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
