package join

import (
	"context"
	"errors"
	"slices"
	"time"
)

// alignTime is between two looks at a role from which nothing has changed here: a
// keeper of an earlier version gives others than are due.
const alignTime = 10 * time.Minute

// alignment is which rights a host was seen to have, and when.
type alignment struct {
	rights []right
	at     time.Time
}

// alignRights has the rights of hosts in the store follow what is due to them. One that
// is not a user yet comes to be one.
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
			now[user] = alignment{due, time.Now()} // if it is other by now, the next look sees that
		}
		errs = append(errs, err)
	}
	b.aligned = now
	return errors.Join(errs...)
}
