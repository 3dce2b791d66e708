package join

import (
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/store"
)

// A key identifies a host. The admission has the key's fingerprint from the first join on,
// and neither a token nor a certificate gives the host's name to another key.

// keyFingerprint is a key's fingerprint: the SHA-256 of its SubjectPublicKeyInfo (RFC
// 5280, section 4.1.2.7), in hex.
func keyFingerprint(public crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:]), err
}

func otherKeyError(g identity) error {
	return heddle.Errorf(heddle.OtherKey, "admit host", g.Name+" with ID "+g.ID, "a host of that name and ID is in the cluster with another key",
		"if it is this host, and its state folder was lost or is of an earlier version: have an operator remove it ('heddle host remove "+g.Name+"'), move the state folder away, and join again")
}

// checkAdmission reports whether a host may come in with its key and addresses, and
// returns the admissions that it was compared with.
func (r roster) checkAdmission(ctx context.Context, g identity, key string, underlay []netip.Addr) ([]admitted, int64, error) {
	removed, err := read(ctx, r.store, cluster.Prefix+"removed/"+g.ID)
	if err != nil {
		return nil, 0, err
	}
	if removed.Value != nil {
		return nil, 0, cluster.RemovedError(g.Name)
	}
	all, at, err := r.admissions(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, h := range all {
		switch {
		case h.name == g.Name && h.ID != g.ID:
			return nil, 0, heddle.Errorf(heddle.HostExists, "admit host", g.Name, "a host of that name is in the cluster with ID "+h.ID+", and this one has "+g.ID,
				"choose another name with --name; if it is this host, installed anew, remove the old one first ('heddle host remove "+g.Name+"')")
		case h.name == g.Name && h.Key != key:
			return nil, 0, otherKeyError(g)
		case h.name != g.Name && h.ID == g.ID:
			return nil, 0, heddle.Errorf(heddle.HostExists, "admit host", g.Name, "host "+h.name+" has the same ID, "+g.ID,
				"if this host's disk is a copy of that one's, move the state folder away and join again")
		}
	}
	return all, at, checkKeeperAddresses(all, g.Name, underlay)
}

// checkKeeperAddresses refuses a host that has the address of a keeper of the store: members are
// identified by their addresses.
func checkKeeperAddresses(all []admitted, name string, underlay []netip.Addr) error {
	for _, h := range all {
		if h.name == name || !h.keeper {
			continue
		}
		for _, a := range underlay {
			if slices.Contains(h.Underlay, a) {
				return heddle.Errorf(heddle.HostExists, "use underlay address", a.String(),
					"host "+h.name+" has it, which keeps the store", "give another address with --underlay")
			}
		}
	}
	return nil
}

// entries are an admission's: the record, and its copy for all hosts.
func (a admission) entries(name string) ([]store.Entry, error) {
	text, err := json.Marshal(a)
	return []store.Entry{{Key: admittedKey(name), Value: text}, {Key: AdmittedPrefix + name, Value: text}}, err
}

// replaceAdmission replaces the admission of a host that is in the cluster.
func (r roster) replaceAdmission(ctx context.Context, h admitted) error {
	done, err := r.tryReplaceAdmission(ctx, h)
	if err == nil && !done {
		err = heddle.Errorf(heddle.StoreDown, "change record of host", h.name, "the record changed meanwhile",
			"try again")
	}
	return err
}

// tryReplaceAdmission is like replaceAdmission, and reports whether the admission was still as it was read.
func (r roster) tryReplaceAdmission(ctx context.Context, h admitted) (bool, error) {
	entries, err := h.entries(h.name)
	if err != nil {
		return false, err
	}
	done, _, err := r.store.Commit(ctx, store.Change{Require: []store.Condition{{Key: admittedKey(h.name), Revision: h.revision}}, Put: entries})
	return done, err
}

// checkKey compares a caller's certificate with the host's admission. An admission by an
// earlier version has no key: the first certificate sets it, a token never does.
func (r roster) checkKey(ctx context.Context, g identity, c *x509.Certificate) error {
	entry, err := read(ctx, r.store, admittedKey(g.Name))
	if err != nil {
		return err
	}
	h := admitted{name: g.Name, revision: entry.Revision}
	if entry.Value != nil {
		if err := json.Unmarshal(entry.Value, &h.admission); err != nil {
			return err
		}
	}
	key, err := keyFingerprint(c.PublicKey)
	switch {
	case err != nil:
		return err
	case h.ID != g.ID:
		return cluster.RemovedError(g.Name)
	case h.Key == "":
		h.Key = key
		return r.replaceAdmission(ctx, h)
	case h.Key != key:
		return otherKeyError(g)
	}
	return nil
}

// checkNotRemoved reports whether a host that was let in has not been removed since.
func (r roster) checkNotRemoved(ctx context.Context, g identity) error {
	entry, err := read(ctx, r.store, admittedKey(g.Name))
	if err != nil {
		return err
	}
	removed, err := read(ctx, r.store, cluster.Prefix+"removed/"+g.ID)
	if err == nil && (entry.Value == nil || removed.Value != nil) {
		err = cluster.RemovedError(g.Name)
	}
	return err
}
