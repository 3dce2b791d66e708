package client

import (
	"context"
	"net/netip"
	"time"
)

// HostStatus is a host of the cluster as its peers see it.
type HostStatus struct {
	Name     string       `json:"name"`
	ID       string       `json:"id"`
	Underlay []netip.Addr `json:"underlay"`
	// MTU in bytes of the interface with these addresses.
	MTU int `json:"mtu,omitempty"`
	// Role in the store: "leader", "voter", "learner", or "client".
	Role string `json:"role"`
	// State is "alive" while the host's agent is connected to the store, else
	// "away"; "absent" if it was let in and has never appeared, "unknown" if this
	// host is not connected itself.
	State string `json:"state"`
	// Blocks is how many address blocks the host has.
	Blocks  int       `json:"blocks"`
	Version string    `json:"version,omitempty"`
	Joined  time.Time `json:"joined,omitzero"`
	// Self marks the host that was asked.
	Self bool `json:"self,omitempty"`

	// Admitted is when the host was let in, Token names the token that it came by
	// (none for the first host), and Key is the fingerprint of its key: the SHA-256
	// of the public key, in hex. They are of an embedded store.
	Admitted time.Time `json:"admitted,omitzero"`
	Token    string    `json:"token,omitempty"`
	Key      string    `json:"key,omitempty"`
	// May is what the host may write that all hosts share: "networks". Hosts that keep
	// the store may, and those to which an operator granted it. It is of an embedded
	// store.
	May []string `json:"may,omitempty"`
	// Refused says which records below the host's name the host that was asked does not
	// take on, and why. Of a host whose own record is among them nothing else is known,
	// and its State is "refused".
	Refused []string `json:"refused,omitempty"`
	// Incomplete says, at the host that was asked, why the list may lack hosts that were
	// let in and have never appeared, and does not tell how the others were let in.
	Incomplete string `json:"incomplete,omitempty"`
}

// Ranges are the prefixes in which the cluster's networks lie.
type Ranges struct {
	Ranges []netip.Prefix `json:"ranges"`
	// Credential is an operator's, in PEM, for a change; empty: the host's own.
	Credential string `json:"credential,omitempty"`
}

// TokenRequest is the body of a POST to PathHostToken.
type TokenRequest struct {
	// Seconds is how long the token lasts, Uses how many hosts it lets in.
	Seconds int64 `json:"seconds"`
	Uses    int   `json:"uses"`
	// May are rights of the hosts that come by it, as in HostStatus.
	May []string `json:"may,omitempty"`
	// Credential is an operator's, in PEM; empty: the host's own.
	Credential string `json:"credential,omitempty"`
}

// Token lets hosts into a cluster.
type Token struct {
	Token string `json:"token"`
	// Name is what 'heddle host list' calls the token. It is no secret.
	Name    string    `json:"name"`
	Expires time.Time `json:"expires"`
	Uses    int       `json:"uses"`
	// May are rights of the hosts that come by it.
	May []string `json:"may,omitempty"`
	// Join has the addresses at which the token is taken.
	Join []netip.Addr `json:"join"`
}

// RemovalRequest is the body of a POST to PathHostRemove.
type RemovalRequest struct {
	Name string `json:"name"`
	// By names the host that is to keep the store in the removed one's place.
	By string `json:"by,omitempty"`
	// Force removes a host that is alive.
	Force      bool   `json:"force,omitempty"`
	Credential string `json:"credential,omitempty"`
}

// KeepersRequest is the body of a POST to PathKeepers.
type KeepersRequest struct {
	// Promote names hosts that are to keep the store, Demote those that are to do so
	// no more.
	Promote    []string `json:"promote,omitempty"`
	Demote     []string `json:"demote,omitempty"`
	Credential string   `json:"credential,omitempty"`
}

// RightsRequest is the body of a POST to PathRights.
type RightsRequest struct {
	Name string `json:"name"`
	// Grant are rights that the host is to have, Revoke such as it is to have no more;
	// see HostStatus.May.
	Grant      []string `json:"grant,omitempty"`
	Revoke     []string `json:"revoke,omitempty"`
	Credential string   `json:"credential,omitempty"`
}

// Hosts lists the hosts of the cluster.
func (c *Client) Hosts(ctx context.Context) (all []HostStatus, err error) {
	return all, c.call(ctx, "GET", PathHosts, nil, &all)
}

// Ranges returns those of the cluster.
func (c *Client) Ranges(ctx context.Context) (r Ranges, err error) {
	return r, c.call(ctx, "GET", PathRanges, nil, &r)
}

// SetRanges changes those of the cluster; none are the default ones.
func (c *Client) SetRanges(ctx context.Context, q Ranges) (r Ranges, err error) {
	return r, c.call(ctx, "POST", PathRanges, q, &r)
}

// HostToken makes a token.
func (c *Client) HostToken(ctx context.Context, q TokenRequest) (t Token, err error) {
	return t, c.call(ctx, "POST", PathHostToken, q, &t)
}

// RemoveHost takes a host out of the cluster; with By, another one keeps the
// store in its place.
func (c *Client) RemoveHost(ctx context.Context, q RemovalRequest) error {
	return c.call(ctx, "POST", PathHostRemove, q, &struct{}{})
}

// Keepers names hosts that are to keep the store, or takes that back.
func (c *Client) Keepers(ctx context.Context, q KeepersRequest) error {
	return c.call(ctx, "POST", PathKeepers, q, &struct{}{})
}

// Rights grants a host rights, or takes them back.
func (c *Client) Rights(ctx context.Context, q RightsRequest) error {
	return c.call(ctx, "POST", PathRights, q, &struct{}{})
}
