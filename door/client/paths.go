// Package client is the Go client of an agent: HTTP and JSON on a unix socket.
// It also holds what both ends of the socket must agree on, so that a program
// that calls an agent need not contain one.
package client

import (
	"net/netip"

	"github.com/heddle-network/heddle"
)

// DefaultSocket is where the agent listens.
const DefaultSocket = "/run/heddle/heddle.sock"

// Paths of the API; all bodies are JSON. An error has the body of a
// heddle.Error and a status that follows its kind.
const (
	PathNetworks    = "/v1/networks"
	PathAllow       = "/v1/allow"
	PathEndpoints   = "/v1/endpoints"
	PathAttach      = "/v1/attach"
	PathAttachBatch = "/v1/attach/batch"
	PathDetach      = "/v1/detach"
	PathMove        = "/v1/move"
	PathLabel       = "/v1/label"
	PathLimits      = "/v1/limits"
	PathFurther     = "/v1/further"
	PathCheck       = "/v1/check"
	PathAudit       = "/v1/audit"
	PathGC          = "/v1/gc"
	PathStatus      = "/v1/status"
	PathExplain     = "/v1/explain"
	PathModes       = "/v1/modes"

	PathHosts      = "/v1/hosts"
	PathHostToken  = "/v1/hosts/token"
	PathRanges     = "/v1/hosts/ranges"
	PathHostRemove = "/v1/hosts/remove"
	PathKeepers    = "/v1/hosts/keepers"
	PathRights     = "/v1/hosts/rights"

	PathAuthority    = "/v1/hosts/authority"
	PathAuthorityKey = "/v1/hosts/authority/key"
)

// CreateRequest is the body of a POST to PathNetworks.
type CreateRequest struct {
	Network heddle.Network `json:"network"`
	DryRun  bool           `json:"dryRun,omitempty"`
}

// CreateReply answers it; Commands are those of a dry run.
type CreateReply struct {
	Network  heddle.Network `json:"network"`
	Commands []string       `json:"commands,omitempty"`
}

// AllowRequest is the body of a POST to PathAllow.
type AllowRequest struct {
	First  string `json:"first"`
	Second string `json:"second"`
	// Off takes the permission back.
	Off    bool `json:"off,omitempty"`
	DryRun bool `json:"dryRun,omitempty"`
}

// CommandsReply answers calls that have nothing else to say; Commands are those of a dry run.
type CommandsReply struct {
	Commands []string `json:"commands,omitempty"`
}

// AttachBatchRequest is the body of a POST to PathAttachBatch, see heddle.CheckBatch.
type AttachBatchRequest struct {
	Endpoints []heddle.AttachRequest `json:"endpoints"`
}

// AttachBatchReply answers it, in the order of the requests.
type AttachBatchReply struct {
	Results []heddle.AttachResult `json:"results"`
}

// DetachRequest is the body of a POST to PathDetach.
type DetachRequest struct {
	heddle.EndpointID
	DryRun bool `json:"dryRun,omitempty"`
}

// DetachReply answers it; Commands are those of a dry run.
type DetachReply struct {
	Found    bool     `json:"found"`
	Commands []string `json:"commands,omitempty"`
}

// MoveRequest is the body of a POST to PathMove.
type MoveRequest struct {
	ID heddle.EndpointID `json:"id"`
	// To is the name of the host that it goes to.
	To     string `json:"to"`
	DryRun bool   `json:"dryRun,omitempty"`
}

// MoveReply answers it with the endpoint as it was; Commands are those of a dry run.
type MoveReply struct {
	heddle.Endpoint
	Commands []string `json:"commands,omitempty"`
}

// LabelRequest is the body of a POST to PathLabel. The answer is the endpoint.
type LabelRequest struct {
	ID heddle.EndpointID `json:"id"`
	heddle.LabelChange
}

// LimitsRequest is the body of a POST to PathLimits.
type LimitsRequest struct {
	ID heddle.EndpointID `json:"id"`
	heddle.RateLimitChange
	DryRun bool `json:"dryRun,omitempty"`
}

// LimitsReply answers it with the endpoint; Commands are those of a dry run.
type LimitsReply struct {
	heddle.Endpoint
	Commands []string `json:"commands,omitempty"`
}

// FurtherRequest is the body of a POST to PathFurther. The answer is the endpoint.
type FurtherRequest struct {
	ID heddle.EndpointID `json:"id"`
	// Sets is how many sets of further addresses the endpoint shall have at least, IPs are addresses of the first one that is new. Without asks that
	// it shall not have the one with that address.
	Sets    int          `json:"sets,omitempty"`
	IPs     []netip.Addr `json:"ips,omitempty"`
	Without netip.Addr   `json:"without,omitzero"`
}

// GCRequest is the body of a POST to PathGC; see agent.GC.
type GCRequest struct {
	Owner string              `json:"owner,omitempty"`
	Keep  []heddle.EndpointID `json:"keep,omitempty"`
	// DryRun lists what would be removed.
	DryRun bool `json:"dryRun,omitempty"`
}

// GCReply lists what was removed.
type GCReply struct {
	Removed []string `json:"removed"`
}
