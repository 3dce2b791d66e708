package join

import (
	"context"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Admission is a host that was let into the cluster, whether or not its agent has
// connected yet.
type Admission struct {
	Name, ID string
	Underlay []netip.Addr
	// At is the time. Token names the token that it came by (empty for the founder). Key is
	// the fingerprint of its key: the SHA-256 of its SubjectPublicKeyInfo in hex.
	At         time.Time
	Token, Key string
	// May are the rights that an operator granted it.
	May []string
}

// admittedTime bounds the reading of the admissions.
const admittedTime = 2 * time.Second

// Admitted lists all hosts that were let in. If the store returns an error, the list is
// empty.
func (n *Node) Admitted(ctx context.Context) ([]Admission, error) {
	ctx, cancel := context.WithTimeout(ctx, admittedTime)
	defer cancel()
	snap, err := n.store.Read(ctx, AdmittedPrefix)
	if err != nil {
		return nil, err
	}
	var all []Admission
	for _, e := range snap.Entries {
		var a admission
		if json.Unmarshal(e.Value, &a) == nil {
			all = append(all, Admission{strings.TrimPrefix(e.Key, AdmittedPrefix), a.ID, a.Underlay, a.At, a.Token, a.Key, a.May})
		}
	}
	return all, nil
}

// prune removes users that belong to no host: hosts that an earlier version removed, or
// that were removed while they were let in.
func (r roster) prune(ctx context.Context) error {
	users, err := r.client.UserList(ctx)
	if err != nil {
		return storeError("list users of", "the store", err)
	}
	all, _, err := r.admissions(ctx) // read after the users, since a host is admitted before it becomes a user
	if err != nil {
		return err
	}
	for _, u := range users.Users {
		g, ok := parseIdentity(u)
		if ok && !slices.ContainsFunc(all, func(h admitted) bool { return h.name == g.Name && h.ID == g.ID }) {
			if err := r.revoke(ctx, u); err != nil {
				return err
			}
		}
	}
	return nil
}
