package client

import (
	"context"
	"time"
)

// The acts of an AuthorityRequest.
const (
	AuthorityShow     = "show"
	AuthorityWithdraw = "withdraw"
	AuthorityLend     = "lend"
	AuthorityReturn   = "return"
)

// AuthorityRequest is the body of a POST to PathAuthority.
type AuthorityRequest struct {
	// Do is one of the acts. All but AuthorityShow take the authority's key, in PEM.
	Do  string `json:"do"`
	Key string `json:"key,omitempty"`
	// Seconds is for how long it is lent.
	Seconds int64 `json:"seconds,omitempty"`
	// Credential is an operator's, in PEM; empty: the host's own.
	Credential string `json:"credential,omitempty"`
	// DryRun makes the checks, and says what would be done.
	DryRun bool `json:"dryRun,omitempty"`
}

// Authority says where the key of a cluster's authority is.
type Authority struct {
	// Withdrawn is when it was taken off the hosts, none if it was not; By is the host
	// on which the operator did so.
	Withdrawn time.Time         `json:"withdrawn,omitzero"`
	By        string            `json:"by,omitempty"`
	Keepers   []AuthorityKeeper `json:"keepers"`
	// Commands are what a dry run would do; it says nothing else.
	Commands []string `json:"commands,omitempty"`
}

// AuthorityKeeper is what a host that keeps the store has of the key.
type AuthorityKeeper struct {
	Name string `json:"name"`
	// Disk says that it is in its state folder, Lent until when it has it in memory.
	Disk bool      `json:"disk"`
	Lent time.Time `json:"lent,omitzero"`
	// Problem is why it is unknown what the host has, or why it lacks what it should have.
	Problem string `json:"problem,omitempty"`
}

// AuthorityKeyRequest is the body of a POST to PathAuthorityKey.
type AuthorityKeyRequest struct {
	Credential string `json:"credential,omitempty"`
}

// AuthorityKey is the authority's certificate and key in PEM.
type AuthorityKey struct {
	Key string `json:"key"`
}

// Authority shows where the authority's key is, withdraws, lends or returns it.
func (c *Client) Authority(ctx context.Context, q AuthorityRequest) (a Authority, err error) {
	return a, c.call(ctx, "POST", PathAuthority, q, &a)
}

// AuthorityKey returns the authority's key from the disk of a host that keeps the store.
func (c *Client) AuthorityKey(ctx context.Context, q AuthorityKeyRequest) (k AuthorityKey, err error) {
	return k, c.call(ctx, "POST", PathAuthorityKey, q, &k)
}
