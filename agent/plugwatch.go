package agent

import (
	"context"
	"time"
)

// watchRest is how long the agent waits before it asks for the next change: several often come together.
const watchRest = time.Second

// watch has the agent look at its NICs as soon as the provider says that they have changed, until ctx ends. What it could not say
// meanwhile, it says afterwards.
func (p *plugs) watch(ctx context.Context) {
	for since := ""; ctx.Err() == nil; {
		now, err := p.provider.Watch(ctx, since)
		if err != nil {
			pause(ctx, plugsEvery)
			continue
		}
		if now != since {
			since = now
			signal(p.soon)
		}
		pause(ctx, watchRest)
	}
}
