package cni

import (
	"context"
	"encoding/json"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door"
)

// add attaches (specification, section 4, ADD). Called again with the same
// configuration it gives the same result.
func (h *Handler) add(ctx context.Context, c call, conf Conf) (any, error) {
	req := heddle.AttachRequest{Network: conf.Network, ID: c.id, Netns: c.netns, Owner: conf.owner(), DefaultRoute: conf.DefaultRoute, NoFastPath: !conf.FastPath}
	env, err := ParseArgs(c.args)
	if err != nil {
		return nil, err
	}
	if err := conf.Options.apply(env, &req); err != nil {
		return nil, err
	}
	result, err := previousResult(conf)
	if err != nil {
		return nil, err
	}
	n, err := h.network(conf)
	if err != nil {
		return nil, err
	}
	if len(n.Subnets) > 0 { // without addresses a name stands for nothing
		req.Name = env.name(c.id)
	}
	req.Ports = door.Unpublished(h.endpoints.Endpoints, req)
	reply, err := h.endpoints.Attach(ctx, req)
	if err != nil {
		return nil, err
	}
	return buildResult(conf, n, c.netns, reply, result)
}

// del detaches (section 4, DEL). It only needs the id: the configuration may have changed,
// the network and the namespace may not exist any more, and there may never have been an
// ADD. So it reads the configuration only to report text that is not JSON.
func (h *Handler) del(ctx context.Context, c call, body []byte) error {
	if len(body) > 0 && !json.Valid(body) {
		return faultf(undecodable, heddle.BadJSON, "decode network configuration", "", "it is not a JSON document",
			"send one JSON object")
	}
	_, err := h.endpoints.Detach(ctx, c.id)
	return err
}

// gc removes what this configuration attached and the runtime does not list (section 4,
// GC). If the list is missing, nothing is removed; an empty list counts as a list. The
// specification allows no other verb at the same time, but a runtime may break this rule:
// an ADD meanwhile does not wait, and its endpoint stays.
func (h *Handler) gc(ctx context.Context, conf Conf) error {
	if conf.Valid == nil {
		return badKey("cni.dev/valid-attachments", "it is missing", "list the attachments to keep")
	}
	keep := make([]heddle.EndpointID, 0, len(*conf.Valid))
	for _, v := range *conf.Valid {
		keep = append(keep, heddle.EndpointID{Container: v.ContainerID, IfName: v.IfName})
	}
	removed, err := h.endpoints.GC(ctx, conf.owner(), keep)
	if len(removed) > 0 {
		h.log.Info("CNI garbage collected", "configuration", conf.Name, "removed", removed)
	}
	return err
}

// status says whether an ADD can be served (section 4, STATUS).
func (h *Handler) status(conf Conf) error {
	s := h.networks.Status()
	if !s.Ready {
		return faultf(notAvailable, heddle.Stopping, "ask agent of host", s.Host, "it is not ready",
			"try again when 'heddle status --wait' returns")
	}
	for _, p := range s.Parts {
		if p.State == "bad" && p.Name != heddle.PartWork { // which may be another network's
			return faultf(limited, heddle.AuditFound, "ask agent about its part", p.Name, p.Detail, "look at 'heddle status'")
		}
	}
	n, err := h.networks.Network(conf.Network)
	if err != nil && conf.Definition != nil {
		_, _, err = h.networks.CreateNetwork(*conf.Definition, true)
	}
	if err != nil {
		return fault{notAvailable, err}
	}
	for _, l := range s.Late {
		if l.Network == n.Name && l.Endpoint == "" {
			return faultf(limited, heddle.AuditFound, "use network", n.Name, l.String(), "look at 'heddle status'")
		}
	}
	for _, u := range s.Networks {
		if u.Name == n.Name && u.Free == 0 {
			return faultf(notAvailable, heddle.PoolExhausted, "use network", n.Name,
				"all addresses are taken, by "+heddle.Count(u.Endpoints, "endpoint"),
				"detach endpoints, or use a network with a larger subnet")
		}
	}
	return nil
}
