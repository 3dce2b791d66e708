package join

import (
	"context"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// roster manages, as the operator, who may do what in an embedded store, and who
// keeps it.
type roster struct {
	store store.Store
	// etcd is the store as it is made, client etcd's own client, for its members and users.
	etcd   *store.Etcd
	client *clientv3.Client
}

// enable turns on the store's access control, with the operator as its superuser and with
// the founder's rights. Calling it again changes nothing.
func (r roster) enable(ctx context.Context, founder identity) error {
	status, err := r.client.AuthStatus(ctx)
	if err == nil && status.Enabled {
		return nil
	}
	if err := r.grant(ctx, founder); err != nil {
		return err
	}
	for _, do := range []func() error{
		func() error { _, err := r.client.RoleAdd(ctx, operatorName); return err },
		func() error { return r.user(ctx, operatorName) },
		func() error { _, err := r.client.UserGrantRole(ctx, operatorName, operatorName); return err },
		func() error { _, err := r.client.AuthEnable(ctx); return err },
	} {
		if err := ignore(do(), rpctypes.ErrRoleAlreadyExist, rpctypes.ErrUserAlreadyExist); err != nil {
			return storeError("turn on access control of", "the store", err)
		}
	}
	return nil
}

// user makes a user who comes with a certificate, and has no password.
func (r roster) user(ctx context.Context, name string) error {
	_, err := r.client.UserAddWithOptions(ctx, name, "", &clientv3.UserAddOptions{NoPassword: true})
	return err
}

// revoke deletes a user: its certificate is useless from then on.
func (r roster) revoke(ctx context.Context, user string) error {
	_, err := r.client.UserDelete(ctx, user)
	if err = ignore(err, rpctypes.ErrUserNotFound); err == nil {
		_, err = r.client.RoleDelete(ctx, user)
		err = ignore(err, rpctypes.ErrRoleNotFound)
	}
	return storeError("delete user", user, err)
}

// usersOf lists the users of a host name, whatever the host's ID was.
func (r roster) usersOf(ctx context.Context, name string) ([]string, error) {
	all, err := r.client.UserList(ctx)
	if err != nil {
		return nil, storeError("list users of", "the store", err)
	}
	return slices.DeleteFunc(all.Users, func(u string) bool { return !strings.HasPrefix(u, name+"@") }), nil
}

// member is a server that keeps the store.
type member struct {
	// Name is the name of its host; empty for a member that was added and has not started yet.
	Name    string   `json:"name,omitempty"`
	ID      uint64   `json:"id"`
	Learner bool     `json:"learner,omitempty"`
	Peers   []string `json:"peers"`
	Clients []string `json:"clients,omitempty"`
}

// memberListTimeout is how long to wait for a list of the members: a member that was just removed
// may have been the leader.
const memberListTimeout = 5 * time.Second

// members lists those that keep the store.
func (r roster) members(ctx context.Context) ([]member, error) {
	ctx, cancel := context.WithTimeout(ctx, memberListTimeout)
	defer cancel()
	resp, err := r.client.MemberList(ctx)
	for err != nil && store.Away(err) && ctx.Err() == nil {
		pause(ctx, 200*time.Millisecond)
		resp, err = r.client.MemberList(ctx)
	}
	if err != nil {
		return nil, storeError("list members of", "the store", err)
	}
	var all []member
	for _, m := range resp.Members {
		all = append(all, member{m.Name, m.ID, m.IsLearner, m.PeerURLs, m.ClientURLs})
	}
	return all, nil
}

// endpoints are the URLs at which a host with these addresses reaches the store.
func (r roster) endpoints(ctx context.Context, underlay []netip.Addr) ([]string, error) {
	s, err := r.state(ctx)
	if err != nil {
		return nil, err
	}
	all := reachable(s.members, underlay)
	if len(all) == 0 {
		return nil, heddle.Errorf(heddle.NoPath, "find address of", "the store", "the hosts that keep it have none of a family of "+joined(underlay),
			"give the host an address of the family of the hosts that keep the store, with --underlay")
	}
	return all, nil
}

// republish records the present members of the store for all hosts.
func (r roster) republish(ctx context.Context) error {
	s, err := r.state(ctx)
	if err != nil {
		return err
	}
	return r.publish(ctx, s.members)
}

// publish records the members of the store for all hosts, if they have changed.
func (r roster) publish(ctx context.Context, all []member) error {
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	old, err := read(ctx, r.store, MembersKey)
	if err != nil || string(old.Value) == string(text) {
		return err
	}
	_, _, err = r.store.Commit(ctx, store.Change{
		Require: []store.Condition{{Key: MembersKey, Revision: old.Revision}},
		Put:     []store.Entry{{Key: MembersKey, Value: text}}})
	return err
}

// read returns one key's entry; a missing key has no value.
func read(ctx context.Context, s store.Store, key string) (store.Entry, error) {
	snap, err := s.Read(ctx, key)
	if err != nil {
		return store.Entry{}, err
	}
	for _, e := range snap.Entries {
		if e.Key == key {
			return e, nil
		}
	}
	return store.Entry{Key: key}, nil
}
