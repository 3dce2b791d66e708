package join

import (
	"context"
	"encoding/json"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/heddle-network/heddle/store"
)

// thank takes back what was asked of hosts that do it.
func (r roster) thank(ctx context.Context, s state) error {
	for _, m := range s.members {
		if h := s.host(m); h != nil && h.asked && m.Name != "" {
			if err := r.unask(ctx, h.name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r roster) ask(ctx context.Context, name string) error {
	text, err := json.Marshal(struct {
		At time.Time `json:"at"`
	}{time.Now().UTC()})
	if err == nil {
		_, _, err = r.store.Commit(ctx, store.Change{Put: []store.Entry{{Key: voteKey(name), Value: text}}})
	}
	return err
}

func (r roster) unask(ctx context.Context, name string) error {
	_, _, err := r.store.Commit(ctx, store.Change{Delete: []string{voteKey(name)}})
	return err
}

// promote gives those learners votes that have all records.
func (r roster) promote(ctx context.Context, learners []member) error {
	for _, m := range learners {
		_, err := r.client.MemberPromote(ctx, m.ID)
		if err = ignore(err, rpctypes.ErrMemberLearnerNotReady); err != nil {
			return refusedTo("give a vote to", m.Name, err)
		}
	}
	return r.republish(ctx)
}

// dismiss takes a member off the store.
func (r roster) dismiss(ctx context.Context, m member) error {
	if _, err := r.client.MemberRemove(ctx, m.ID); ignore(err, rpctypes.ErrMemberNotFound) != nil {
		return refusedTo("take off the store's member", m.Name, err)
	}
	return r.republish(ctx)
}
