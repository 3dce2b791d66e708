package join

import (
	"context"
	"errors"
	"slices"
	"time"
)

// alignTime is between two looks at a role that nothing here has changed: a keeper of an
// earlier version may set other rights.
const alignTime = 10 * time.Minute

// alignment is the rights that a host was seen to have, and when.
type alignment struct {
	rights []right
	at     time.Time
}

// alignRights makes the rights of hosts in the store what they should be. A host that is
// not a user yet becomes one.
func (b *balancer) alignRights(ctx context.Context, r roster, all []admitted) error {
	now := map[string]alignment{}
	var errs []error
	for _, h := range all {
		user := guest{h.name, h.ID}.String()
		due, was := h.rights(), b.aligned[user]
		if slices.Equal(was.rights, due) && time.Since(was.at) < alignTime {
			now[user] = was
			continue
		}
		there, err := r.settleRights(ctx, h.name)
		if err == nil && there {
			now[user] = alignment{due, time.Now()} // if they have changed again, the next look sees it
		}
		errs = append(errs, err)
	}
	b.aligned = now
	return errors.Join(errs...)
}
