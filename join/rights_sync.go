package join

import (
	"context"
	"errors"
	"slices"
	"time"
)

// syncEvery is the time between two syncs of a role that nothing here has changed: a keeper of an
// earlier version may set other rights.
const syncEvery = 10 * time.Minute

// syncedRights is the rights that a host was seen to have, and when.
type syncedRights struct {
	rights []right
	at     time.Time
}

// syncAllRights makes the rights of hosts in the store what they should be. A host that is
// not a user yet becomes one.
func (b *balancer) syncAllRights(ctx context.Context, r roster, all []admitted) error {
	now := map[string]syncedRights{}
	var errs []error
	for _, h := range all {
		user := identity{h.name, h.ID}.String()
		due, was := h.rights(), b.synced[user]
		if slices.Equal(was.rights, due) && time.Since(was.at) < syncEvery {
			now[user] = was
			continue
		}
		there, err := r.syncRights(ctx, h.name)
		if err == nil && there {
			now[user] = syncedRights{due, time.Now()} // if they have changed again, the next sync sees it
		}
		errs = append(errs, err)
	}
	b.synced = now
	return errors.Join(errs...)
}
