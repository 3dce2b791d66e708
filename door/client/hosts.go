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
	// May is what the host may write of what all hosts share: "networks". Hosts that keep
	// the store have this right, and so do hosts to which an operator granted it. Only an
	// embedded store has this.
	May []string `json:"may,omitempty"`
	// Refused says which records below the host's name the asked host does not accept, and
	// why. If the host's own record is among them, nothing else is known of it, and its
	// State is "refused".
	Refused []string `json:"refused,omitempty"`
	// Incomplete is set for the host that was asked. It says why the list may lack hosts
	// that never appeared, and does not show how the others were let in.
	Incomplete string `json:"incomplete,omitempty"`
}

// Ranges are the prefixes in which the cluster's networks lie.
type Ranges struct {
	Ranges []netip.Prefix `json:"ranges"`
	// Credential is an operator's, in PEM, for a change; empty: the host's own.
	Credential string `json:"credential,omitempty"`
	// DryRun makes the checks, and says what would be written.
	DryRun bool `json:"dryRun,omitempty"`
	// Commands are what a dry run would write.
	Commands []string `json:"commands,omitempty"`
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
	// DryRun makes the checks, and says what would be written.
	DryRun bool `json:"dryRun,omitempty"`
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
	// Join has the addresses at which the token is accepted.
	Join []netip.Addr `json:"join"`
	// Commands are what a dry run would write; it has nothing else.
	Commands []string `json:"commands,omitempty"`
}

// RemovalRequest is the body of a POST to PathHostRemove.
type RemovalRequest struct {
	Name string `json:"name"`
	// By names the host that shall keep the store instead of the removed one.
	By string `json:"by,omitempty"`
	// Force removes a host that is alive.
	Force      bool   `json:"force,omitempty"`
	Credential string `json:"credential,omitempty"`
	// DryRun makes the checks, and says what would be written.
	DryRun bool `json:"dryRun,omitempty"`
}

// KeepersRequest is the body of a POST to PathKeepers.
type KeepersRequest struct {
	// Promote names hosts that shall keep the store; Demote names hosts that shall stop
	// doing so.
	Promote    []string `json:"promote,omitempty"`
	Demote     []string `json:"demote,omitempty"`
	Credential string   `json:"credential,omitempty"`
	// DryRun makes the checks, and says what would be written.
	DryRun bool `json:"dryRun,omitempty"`
}

// RightsRequest is the body of a POST to PathRights.
type RightsRequest struct {
	Name string `json:"name"`
	// Grant are rights that the host gets, Revoke those that it loses; see HostStatus.May.
	Grant      []string `json:"grant,omitempty"`
	Revoke     []string `json:"revoke,omitempty"`
	Credential string   `json:"credential,omitempty"`
	// DryRun makes the checks, and says what would be written.
	DryRun bool `json:"dryRun,omitempty"`
}

// Hosts lists the hosts of the cluster.
func (c *Client) Hosts(ctx context.Context) (all []HostStatus, err error) {
	return all, c.call(ctx, "GET", PathHosts, nil, &all)
}

// Ranges returns the cluster's ranges.
func (c *Client) Ranges(ctx context.Context) (r Ranges, err error) {
	return r, c.call(ctx, "GET", PathRanges, nil, &r)
}

// SetRanges changes the cluster's ranges; none stands for the default ones.
func (c *Client) SetRanges(ctx context.Context, q Ranges) (r Ranges, err error) {
	return r, c.call(ctx, "POST", PathRanges, q, &r)
}

// change calls for a change, and returns the commands of a dry run.
func (c *Client) change(ctx context.Context, path string, q any) ([]string, error) {
	var r CommandsReply
	err := c.call(ctx, "POST", path, q, &r)
	return r.Commands, err
}

// HostToken makes a token.
func (c *Client) HostToken(ctx context.Context, q TokenRequest) (t Token, err error) {
	return t, c.call(ctx, "POST", PathHostToken, q, &t)
}

// RemoveHost removes a host from the cluster. With By, that host keeps the store instead.
func (c *Client) RemoveHost(ctx context.Context, q RemovalRequest) (commands []string, err error) {
	return c.change(ctx, PathHostRemove, q)
}

// Keepers names hosts that shall keep the store, or takes that back.
func (c *Client) Keepers(ctx context.Context, q KeepersRequest) (commands []string, err error) {
	return c.change(ctx, PathKeepers, q)
}

// Rights grants a host rights, or takes them back.
func (c *Client) Rights(ctx context.Context, q RightsRequest) (commands []string, err error) {
	return c.change(ctx, PathRights, q)
}
