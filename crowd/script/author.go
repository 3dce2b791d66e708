// Package script runs the scripts of behaviours, each in a container without a network, and asks them.
package script

import (
	"context"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/socket"
)

// Author runs scripts, each from the first question to it on. All methods may be called at once.
type Author struct {
	stop     func() bool // has the context's end close nothing
	patience time.Duration

	mu     sync.Mutex
	closed bool
	holder *socket.Holder
	// asked are the scripts that have been asked something, by the name of the behaviour.
	asked map[string]*dialogue
}

// NewAuthor returns an author that runs no script yet. It is closed when the context ends, or before.
func NewAuthor(ctx context.Context) *Author {
	a := &Author{patience: patience, asked: map[string]*dialogue{}}
	a.stop = context.AfterFunc(ctx, a.end)
	return a
}

// Ask asks the script of a behaviour a question, a line of JSON, and returns the line that it answers. A script that has failed is
// not asked again.
func (a *Author) Ask(ctx context.Context, behaviour string, of scenario.Behaviour, question []byte) ([]byte, error) {
	d, err := a.of(behaviour, of)
	if err == nil {
		var line []byte
		if line, err = d.ask(ctx, question); err == nil || ctx.Err() != nil {
			return line, err
		}
	}
	return nil, heddle.Wrap(heddle.CrowdFailed, "ask the script of behaviour", behaviour, err, "correct the script; docs/guides/crowd.md says how it is asked")
}

// of is the dialogue with a behaviour's script.
func (a *Author) of(behaviour string, of scenario.Behaviour) (*dialogue, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if d := a.asked[behaviour]; d != nil {
		return d, nil
	}
	if a.closed {
		return nil, errClosed
	}
	if a.holder == nil {
		holder, err := socket.NewHolder()
		if err != nil {
			return nil, heddle.Wrap(heddle.CrowdFailed, "make a container for the script of behaviour", behaviour, err, "call as root: a script runs in a container")
		}
		a.holder = holder
	}
	n, err := a.holder.New()
	if err != nil {
		return nil, err
	}
	d := begin(n, of, a.patience)
	a.asked[behaviour] = d
	return d, nil
}

// Close ends all scripts, and waits until they have ended.
func (a *Author) Close() {
	a.stop()
	a.end()
}

func (a *Author) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for _, d := range a.asked {
		d.end()
	}
	if a.holder != nil {
		a.holder.Close()
	}
}
