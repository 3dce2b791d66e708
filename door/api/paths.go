// Package api is the agent's local door: HTTP and JSON on a unix socket, and
// the Go client for it. Callers are known by the kernel (SO_PEERCRED), so there
// are no passwords; the socket belongs to root and its group.
package api

import "github.com/heddle-network/heddle"

// DefaultSocket is where the agent listens.
const DefaultSocket = "/run/heddle/heddle.sock"

// Paths of the API; all bodies are JSON. An error has the body of a
// heddle.Error and a status that follows its kind.
const (
	pathNetworks  = "/v1/networks"
	pathAllow     = "/v1/allow"
	pathEndpoints = "/v1/endpoints"
	pathAttach    = "/v1/attach"
	pathDetach    = "/v1/detach"
	pathCheck     = "/v1/check"
	pathAudit     = "/v1/audit"
	pathGC        = "/v1/gc"
	pathStatus    = "/v1/status"
	pathExplain   = "/v1/explain"
	pathModes     = "/v1/modes"
)

type createRequest struct {
	Network heddle.Network `json:"network"`
	DryRun  bool           `json:"dryRun,omitempty"`
}

type createReply struct {
	Network  heddle.Network `json:"network"`
	Commands []string       `json:"commands,omitempty"`
}

type allowRequest struct {
	First  string `json:"first"`
	Second string `json:"second"`
}

type detachReply struct {
	Found bool `json:"found"`
}

type gcRequest struct {
	Owner string              `json:"owner,omitempty"`
	Keep  []heddle.EndpointID `json:"keep,omitempty"`
}

type gcReply struct {
	Removed []string `json:"removed"`
}
