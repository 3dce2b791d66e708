// Package netavark is the door for Podman's default network stack: the agent's side of the
// netavark plugin (plugin API 1.0.0, plugin-API.md of netavark). Command heddle-cni, called as
// netavark calls a plugin, passes the subcommand and the document on in one HTTP request, and
// prints the answer.
//
//	podman, netavark ── exec ──> heddle-cni ── POST /v1/netavark ──> Handler ──> agent
package netavark

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/door"
)

// Path is the handler's path in the agent's server.
const Path = "/v1/netavark"

// The headers that carry the plugin's arguments.
const (
	headerCommand = "Netavark-Command"
	headerNetns   = "Netavark-Netns"
)

// headerNote carries a line that the plugin prints on stderr, which Podman shows.
const headerNote = "Plugin-Note"

// maxDocument bounds a document in bytes.
const maxDocument = 1 << 20

// endpoints and networks are what the door needs of the agent.
type endpoints interface {
	Attach(context.Context, heddle.AttachRequest) (heddle.AttachReply, error)
	Detach(context.Context, heddle.EndpointID) (bool, error)
	Publish(context.Context, heddle.EndpointID, []heddle.PortMapping) (heddle.Endpoint, error)
	Endpoints() []heddle.Endpoint
}

type networks interface {
	Network(name string) (heddle.Network, error)
	NetworkByID(id string) (heddle.Network, error)
	CreateNetwork(n heddle.Network, dryRun bool) (heddle.Network, []string, error)
	Spans(mode string) bool
	Publishes(heddle.Network) bool
}

// Handler answers the plugin.
type Handler struct {
	endpoints endpoints
	networks  networks
	log       *slog.Logger
	queue     *door.Queue
}

// NewHandler returns the handler. The queue is that of the CNI door.
func NewHandler(a *agent.Agent, log *slog.Logger, queue *door.Queue) *Handler {
	return &Handler{a, a, log, queue}
}

// ServeHTTP answers one subcommand. It finishes the work even if the plugin is killed.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := context.WithoutCancel(r.Context())
	above := engines(door.CallerOf(ctx)) // first, while the plugin and its parents live for sure
	command, netns := r.Header.Get(headerCommand), r.Header.Get(headerNetns)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDocument))
	var answer any
	var note string
	if err != nil {
		err = heddle.Errorf(heddle.BadJSON, "read document of netavark", "", err.Error(), "send at most 1 MiB")
	} else {
		answer, note, err = h.serve(ctx, command, netns, above, body)
	}
	if err != nil {
		h.log.Warn("netavark call failed", "command", heddle.Clip(command), "netns", heddle.Clip(netns), "error", err)
	}
	if note != "" {
		w.Header().Set(headerNote, note)
	}
	door.Reply(w, answer, err, func(err error) any { return failure{inPodmanWords(err)} })
}

func (h *Handler) serve(ctx context.Context, command, netns string, above []int, body []byte) (answer any, note string, err error) {
	switch command {
	case "create":
		answer, err = h.create(body)
		return answer, "", err
	case "setup":
		return h.setup(ctx, netns, above, body)
	case "teardown":
		return nil, "", h.teardown(ctx, body)
	}
	return nil, "", heddle.Errorf(heddle.BadArgument, "read subcommand of netavark", heddle.Clip(command), "there is no such subcommand",
		fmt.Sprintf("give create, setup, teardown or info (plugin API %s)", apiVersion))
}

// apiVersion is the version of the plugin API that the door speaks.
const apiVersion = "1.0.0"
