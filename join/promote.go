package join

import (
	"context"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// promote gives votes to those learners that have all records.
func (r roster) promote(ctx context.Context, learners []member) error {
	for _, m := range learners {
		_, err := r.client.MemberPromote(ctx, m.ID)
		if err = ignore(err, rpctypes.ErrMemberLearnerNotReady); err != nil {
			return storeError("give a vote to member", m.Name, err)
		}
	}
	return r.republish(ctx)
}

// removeMember takes a member off the store.
func (r roster) removeMember(ctx context.Context, m member) error {
	if _, err := r.client.MemberRemove(ctx, m.ID); ignore(err, rpctypes.ErrMemberNotFound) != nil {
		return storeError("remove member", m.Name, err)
	}
	return r.republish(ctx)
}
