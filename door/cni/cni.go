// Package cni is the door for container runtimes: the agent's side of the CNI
// plugin (specification 1.1.0). Command heddle-cni passes a verb's environment
// and network configuration on in one HTTP request, and prints the answer.
//
//	runtime ── exec ──> heddle-cni ── POST /v1/cni ──> Handler ──> agent
package cni

import (
	"context"
	"io"
	"log/slog"
	"net/http"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/door"
)

// Path is the handler's path in the agent's server.
const Path = "/v1/cni"

// maxConf bounds a network configuration in bytes.
const maxConf = 1 << 20

// endpoints and networks are what the door needs of the agent.
type endpoints interface {
	Attach(context.Context, heddle.AttachRequest) (heddle.AttachReply, error)
	Detach(context.Context, heddle.EndpointID) (bool, error)
	Check(heddle.EndpointID) ([]heddle.Finding, error)
	Endpoint(heddle.EndpointID) (heddle.Endpoint, error)
	Endpoints() []heddle.Endpoint
	GC(ctx context.Context, owner string, keep []heddle.EndpointID) ([]string, error)
}

type networks interface {
	Network(name string) (heddle.Network, error)
	CreateNetwork(n heddle.Network, dryRun bool) (heddle.Network, []string, error)
	Status() heddle.Status
}

// Handler answers the plugin.
type Handler struct {
	endpoints endpoints
	networks  networks
	log       *slog.Logger
	queue     *door.Queue
	confirmed confirmedDefinitions
}

// NewHandler returns the handler.
func NewHandler(a *agent.Agent, log *slog.Logger, queue *door.Queue) *Handler {
	return newHandler(a, a, log, queue)
}

func newHandler(e endpoints, n networks, log *slog.Logger, queue *door.Queue) *Handler {
	return &Handler{endpoints: e, networks: n, log: log, queue: queue}
}

// ServeHTTP answers one verb. It finishes the work even if the plugin is killed.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := context.WithoutCancel(r.Context())
	version := newestVersion
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxConf))
	var answer any
	if err != nil {
		err = faultf(ioFailure, heddle.CNIConfig, "read network configuration", "", err.Error(), "send at most 1 MiB")
	} else {
		version, answer, err = h.serve(ctx, callOf(r.Header), body)
	}
	if err != nil {
		h.log.Warn("CNI call failed", "verb", r.Header.Get(headerCommand), "container", r.Header.Get(headerContainer), "error", err)
	}
	door.Reply(w, answer, err, func(err error) any { return errorReply(version, err) })
}

// serve decodes and dispatches a call. It also returns the version of the answer.
func (h *Handler) serve(ctx context.Context, c call, body []byte) (version string, answer any, err error) {
	version = newestVersion
	if err := c.check(); err != nil {
		return version, nil, err
	}
	undone := h.queue.Drain(ctx)
	if c.command == "DEL" {
		return version, nil, h.del(ctx, c, body)
	}
	conf, err := ParseConf(body)
	if supported(conf.CNIVersion) {
		version = conf.CNIVersion
	}
	if err == nil {
		err = c.checkVersion(conf.CNIVersion)
	}
	if err != nil {
		return version, nil, err
	}
	switch c.command {
	case "ADD":
		if err := undone.Attachable(c.id); err != nil {
			return version, nil, fault{tryAgainLater, err}
		}
		answer, err = h.add(ctx, c, conf)
	case "CHECK":
		err = h.check(c, conf)
	case "GC":
		err = h.gc(ctx, conf)
	case "STATUS":
		err = h.status(conf)
	}
	return version, answer, err
}
