package join

import (
	"context"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Admission is a host that was let into the cluster, whether it appeared or not.
type Admission struct {
	Name, ID string
	Underlay []netip.Addr
	// At is when, Token names the token that it came by (empty for the founder), Key
	// is the fingerprint of its key: the SHA-256 of its SubjectPublicKeyInfo in hex.
	At         time.Time
	Token, Key string
	// May are the rights that an operator granted it.
	May []string
}

// admittedTime bounds the look at the admissions.
const admittedTime = 2 * time.Second

// Admitted lists all hosts that were let in. With an error, which is the store's, it
// lists none.
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

// prune takes the users away that are no host's: of hosts that were removed by an
// earlier version, or while they were let in.
func (r roster) prune(ctx context.Context) error {
	users, err := r.client.UserList(ctx)
	if err != nil {
		return refusedTo("list users of", "store", err)
	}
	all, _, err := r.admissions(ctx) // after the users: who comes in is admitted first
	if err != nil {
		return err
	}
	for _, u := range users.Users {
		g, ok := parseGuest(u)
		if ok && !slices.ContainsFunc(all, func(h admitted) bool { return h.name == g.Name && h.ID == g.ID }) {
			if err := r.revoke(ctx, u); err != nil {
				return err
			}
		}
	}
	return nil
}
