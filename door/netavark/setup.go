package netavark

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// setup attaches a container, as a whole or not at all. Called again with the same document, it
// gives the same answer. A note is for who waits at the terminal.
func (h *Handler) setup(ctx context.Context, netns string, above []int, body []byte) (answer any, note string, err error) {
	var x execution
	if err := decode(body, &x); err != nil {
		return nil, "", err
	}
	if err := x.id().Check(); err != nil {
		return nil, "", err
	}
	if err := h.queue.Drain(ctx).Attachable(x.id()); err != nil {
		return nil, "", err
	}
	n, err := h.networkOf(x.Network)
	if err != nil {
		return nil, "", err
	}
	req, err := x.request(n)
	if err != nil {
		return nil, "", err
	}
	req.Netns, req.Holders = netns, above
	h.takeRoute(n, &req)
	note, undo, err := h.takePorts(ctx, n, &req)
	if err != nil {
		return nil, "", err
	}
	reply, err := h.endpoints.Attach(ctx, req)
	if err != nil {
		return nil, "", errors.Join(err, undo())
	}
	return x.Network.status(n, reply), note, nil
}

// teardown detaches. It only needs the endpoint's id: the network and the namespace may not exist any
// more, and there may never have been a setup.
func (h *Handler) teardown(ctx context.Context, body []byte) error {
	var x struct {
		Container string `json:"container_id"`
		Endpoint  struct {
			IfName string `json:"interface_name"`
		} `json:"network_options"`
	}
	if err := decode(body, &x); err != nil {
		return err
	}
	id := heddle.EndpointID{Container: x.Container, IfName: x.Endpoint.IfName}
	if err := id.Check(); err != nil {
		return err
	}
	h.queue.Drain(ctx)
	_, err := h.endpoints.Detach(ctx, id)
	return err
}

// request is what the document asks the agent for, but for the namespace.
func (x execution) request(n heddle.Network) (req heddle.AttachRequest, err error) {
	req = heddle.AttachRequest{Network: n.ID, ID: x.id(), Owner: "netavark/" + x.Network.Name}
	for _, a := range x.Endpoint.IPs {
		req.IPs = append(req.IPs, a.Unmap())
	}
	if x.Endpoint.MAC != "" {
		if req.MAC, err = heddle.ParseMAC(x.Endpoint.MAC); err != nil {
			return req, err
		}
	}
	if len(n.Subnets) > 0 || n.FromDHCP() { // without addresses a name stands for nothing
		req.Aliases = x.Endpoint.Aliases
		if name, _, err := heddle.CheckNames(req.ID.String(), x.Name, nil); err == nil {
			req.Name = name // a container may be called what no name is
		}
	}
	if err := applyOptions(x.Network.Options[optionNoRoute], x.Endpoint.Options, &req); err != nil {
		return req, err
	}
	req.Ports, err = mappings(x.Ports)
	return req, err
}

// applyOptions reads what podman run --network NAME:KEY=VALUE gives besides names and addresses.
func applyOptions(noRoute string, options map[string]string, req *heddle.AttachRequest) error {
	for _, key := range slices.Sorted(maps.Keys(options)) {
		switch key {
		case optionNoRoute:
			noRoute = options[key]
		case "nic":
			req.NIC = options[key]
		default:
			return heddle.Errorf(heddle.BadOption, "read option of --network", heddle.Clip(key), "there is no such option",
				"give ip, ip6, mac, alias, interface_name, "+optionNoRoute+" or nic")
		}
	}
	if noRoute == "" {
		return nil
	}
	without, err := truth(optionNoRoute, noRoute)
	if without {
		req.DefaultRoute = new(bool)
	}
	return err
}

// status is what Podman remembers of the endpoint. The resolvers go into the container's
// /etc/resolv.conf, unless the network has no names (podman network create --disable-dns).
func (n network) status(of heddle.Network, reply heddle.AttachReply) status {
	e := reply.Endpoint
	s := status{Search: []string{}, Resolvers: []netip.Addr{}, Interfaces: map[string]netIfState{}}
	if n.DNS && len(reply.Resolvers) > 0 {
		s.Search, s.Resolvers = append(s.Search, reply.Search...), reply.Resolvers
	}
	own := netIfState{MAC: e.MAC, Subnets: []netAddress{}}
	of = of.LeasedTo(e)
	for _, p := range e.Addrs {
		a := netAddress{IPNet: p}
		if g, ok := of.GatewayFor(p.Addr()); ok && !of.Internal {
			a.Gateway = &g
		}
		own.Subnets = append(own.Subnets, a)
	}
	s.Interfaces[e.ID.IfName] = own
	return s
}
