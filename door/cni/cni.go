// Package cni is the door for container runtimes: the agent's side of the CNI
// plugin (specification 1.1.0). Command heddle-cni passes a verb's environment
// and network configuration on in one HTTP request, and prints the answer.
//
//	runtime ── exec ──> heddle-cni ── POST /v1/cni ──> Handler ──> agent
package cni

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
)

// Path is the handler's path in the agent's server.
const Path = "/v1/cni"

// exitHeader has the plugin's exit code, and shows that this door answered.
const exitHeader = "Cni-Exit"

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
	queue     *queue
	confirmed confirmedDefinitions
}

// NewHandler returns the handler, after executing the DELs that were queued in
// the folder while no agent ran.
func NewHandler(a *agent.Agent, log *slog.Logger, queueDir string) *Handler {
	return newHandler(a, a, log, queueDir)
}

func newHandler(e endpoints, n networks, log *slog.Logger, queueDir string) *Handler {
	h := &Handler{endpoints: e, networks: n, log: log, queue: &queue{dir: queueDir, detach: e.Detach, log: log}}
	h.queue.drain(context.Background())
	return h
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
	write(w, version, answer, err)
}

// serve decodes and dispatches a call. It also returns the version of the answer.
func (h *Handler) serve(ctx context.Context, c call, body []byte) (version string, answer any, err error) {
	version = newestVersion
	if err := c.check(); err != nil {
		return version, nil, err
	}
	undone := h.queue.drain(ctx)
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
		if err := undone[c.id]; err != nil {
			return version, nil, faultf(tryAgainLater, heddle.KernelRefused, "attach endpoint", c.id.String(),
				"the DEL queued before failed: "+heddle.SentenceOf(err), heddle.FirstRemedy(err, "then try again"))
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

// write answers with what the plugin prints on stdout: a result, nothing, or an
// error.
func write(w http.ResponseWriter, version string, answer any, err error) {
	exit, status := 0, http.StatusOK
	var body []byte
	if err == nil && answer != nil {
		body, err = json.Marshal(answer)
	}
	if err != nil {
		exit = 1
		body, _ = json.Marshal(errorReply(version, err))
		if heddle.KindOf(err) == heddle.Unreachable {
			status = http.StatusServiceUnavailable // the plugin queues a DEL
		}
	}
	if len(body) > 0 {
		body = append(body, '\n')
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set(exitHeader, strconv.Itoa(exit))
	w.WriteHeader(status)
	w.Write(body)
}
