package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/heddle-network/heddle"
)

// containerPrefix begins the names of interfaces in containers. The engine adds a number
// that it chooses.
const containerPrefix = "eth"

// endpointID is our id for the engine's endpoint. The interface is without its number,
// since the engine does not tell it.
func endpointID(dockerID string) heddle.EndpointID {
	return heddle.EndpointID{Container: dockerID, IfName: containerPrefix}
}

// EndpointID is our id for an endpoint of an engine, which may have any text for it.
func EndpointID(dockerID string) (heddle.EndpointID, error) {
	id := endpointID(dockerID)
	return id, id.Check()
}

// OfDocker reports whether an endpoint belongs to an engine.
func OfDocker(id heddle.EndpointID) bool { return id.IfName == containerPrefix }

// owner names the engine's network that an endpoint belongs to.
func owner(dockerNetwork string) string { return "docker/" + dockerNetwork }

// createEndpoint only records the endpoint, since there is no container before Join. The
// answer may only fill in what was empty in the request, which is the MAC address, and the IP address where
// that comes by DHCP: the engine has to be told it now.
func (s *Server) createEndpoint(ctx context.Context, q createEndpoint) (any, error) {
	n, err := s.network(q.NetworkID)
	if err != nil {
		return nil, err
	}
	if n.Deleting {
		return nil, heddle.Errorf(heddle.NetworkLeaving, "create endpoint on network", n.Name, "", "use another network")
	}
	given := endpointInterface{}
	if q.Interface != nil {
		given = *q.Interface
	}
	req := heddle.AttachRequest{Network: n.ID, ID: endpointID(q.EndpointID), Owner: owner(q.NetworkID), Handover: true, AsksHost: true}
	for _, text := range []string{given.Address, given.AddressIPv6} {
		if text == "" {
			continue
		}
		a, err := parseAddr(text)
		if err != nil {
			return nil, err
		}
		req.IPs = append(req.IPs, a)
	}
	answer := endpointInterface{}
	if given.MacAddress != "" {
		req.MAC, err = heddle.ParseMAC(given.MacAddress)
	} else if s.agent.ChoosesMAC(n) {
		req.MAC = dockerMAC(req, n)
		answer.MacAddress = string(req.MAC)
	}
	if err != nil {
		return nil, err
	}
	if n.FromDHCP() {
		if answer.Address, err = s.leaseAhead(ctx, n, &req); err != nil {
			return nil, err
		}
	}
	if err := s.endpoints.put(q.EndpointID, pendingEndpoint{q.NetworkID, req}); err != nil {
		return nil, err
	}
	return createdEndpoint{&answer}, nil
}

// leaseAhead has the LAN's DHCP server lease an endpoint its address. Docker's own IPAM driver would have chosen
// one already.
func (s *Server) leaseAhead(ctx context.Context, n heddle.Network, req *heddle.AttachRequest) (string, error) {
	if len(req.IPs) > 0 {
		return "", heddle.Errorf(heddle.DockerIPAM, "create endpoint on network", n.Name,
			"Docker gives the container "+heddle.List(req.IPs)+", and the LAN's DHCP server is to say its address", "create Docker's network with --ipam-driver null")
	}
	e, err := s.agent.LeaseAhead(ctx, *req)
	if err != nil {
		return "", err
	}
	req.IPs = []netip.Addr{e.Addrs[0].Addr()}
	return e.Addrs[0].String(), nil
}

// dockerMAC is Docker's own rule: 02:42 and the IPv4 address. An address that is used again
// then has the MAC that its neighbours already know.
func dockerMAC(req heddle.AttachRequest, n heddle.Network) heddle.MAC {
	for _, a := range req.IPs {
		if a.Is4() {
			b := a.As4()
			return heddle.MAC(fmt.Sprintf("02:42:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3]))
		}
	}
	return req.ID.DefaultMAC(n.ID, 0)
}

// deleteEndpoint deletes the record of an endpoint, and the endpoint if there was no Leave.
func (s *Server) deleteEndpoint(ctx context.Context, q endpointRef) (any, error) {
	if err := endpointID(q.EndpointID).Check(); err != nil {
		return empty{}, nil // it was never created
	}
	if err := s.agent.LeaveNow(ctx, endpointID(q.EndpointID)); err != nil {
		return nil, err
	}
	return empty{}, s.endpoints.drop(q.EndpointID)
}

// endpointInfo returns what the engine shows of an endpoint.
func (s *Server) endpointInfo(_ context.Context, q endpointRef) (any, error) {
	e, err := s.agent.Endpoint(endpointID(q.EndpointID))
	if errors.Is(err, heddle.NoEndpoint.Sentinel()) {
		return endpointInfo{map[string]any{}}, nil
	}
	if err != nil {
		return nil, err
	}
	value := map[string]any{keyMAC: string(e.MAC), "heddle.endpoint": e.ID.String(), "heddle.network": e.NetworkName}
	if len(e.Ports) > 0 {
		value[keyPorts] = portBindings(e)
	}
	return endpointInfo{value}, nil
}

// join makes the endpoint. The engine takes the link by its name, moves it,
// renames it, and gives it addresses and routes as the answer says.
func (s *Server) join(ctx context.Context, q join) (any, error) {
	d, known, err := s.endpoints.get(q.EndpointID)
	if err == nil && (!known || d.DockerNetwork != q.NetworkID) {
		err = heddle.Errorf(heddle.NoEndpoint, "join endpoint of Docker", heddle.ShortDockerID(q.EndpointID),
			"the agent has no record of it", "start the container again")
	}
	if err != nil {
		return nil, err
	}
	n, err := s.network(q.NetworkID)
	if err != nil {
		return nil, err
	}
	req := d.Request
	req.Network, req.Netns = n.ID, q.SandboxKey // its name may change meanwhile
	reply, err := s.agent.Attach(ctx, req)
	if err != nil {
		return nil, err
	}
	return render(n, reply), nil
}

// render says how the engine configures the container. On an overlay, the default route
// leads through docker_gwbridge, which the engine adds if there is no gateway. With the
// option gwbridge=false it leads through the network itself.
func render(n heddle.Network, reply heddle.AttachReply) joined {
	j := joined{InterfaceName: interfaceName{SrcName: reply.Source, DstPrefix: containerPrefix}}
	for _, r := range reply.Routes {
		route := staticRoute{Destination: r.Dst.String(), RouteType: onLink}
		if r.Via.IsValid() {
			route.RouteType, route.NextHop = viaNextHop, r.Via.String()
		}
		j.StaticRoutes = append(j.StaticRoutes, route)
	}
	if throughGatewayBridge(n) {
		return j
	}
	j.DisableGatewayService = true
	for _, g := range gateways(n, reply) {
		if g.Is4() {
			j.Gateway = g.String()
		} else {
			j.GatewayIPv6 = g.String()
		}
	}
	return j
}

func throughGatewayBridge(n heddle.Network) bool {
	return n.Mode == "overlay" && !n.Internal && n.Options["gwbridge"] != "false"
}

func gateways(n heddle.Network, reply heddle.AttachReply) []netip.Addr {
	if n.Internal {
		return nil
	}
	return reply.Gateways
}

// leave removes the link. The engine deletes the endpoint later, or joins it again.
func (s *Server) leave(ctx context.Context, q endpointRef) (any, error) {
	if strings.TrimSpace(q.EndpointID) == "" || endpointID(q.EndpointID).Check() != nil {
		return empty{}, nil
	}
	return empty{}, s.agent.Leave(ctx, endpointID(q.EndpointID))
}
