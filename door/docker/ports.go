package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/heddle-network/heddle"
)

// portBinding is the engine's published port (moby, libnetwork/types.PortBinding). Proto
// is the IP protocol number. HostPort 0 asks for any port; a range from HostPort to
// HostPortEnd asks for any port in it.
type portBinding struct {
	Proto                 int
	IP                    string
	Port                  uint16
	HostIP                string
	HostPort, HostPortEnd uint16
}

// publish is called after Join, for the endpoint that has the container's default route.
func (s *Server) publish(ctx context.Context, q programExternal) (any, error) {
	wanted, err := parsePorts(q.Options[keyPorts])
	if err != nil {
		return nil, err
	}
	id := endpointID(q.EndpointID)
	if len(wanted) == 0 {
		return empty{}, nil
	}
	e, err := s.agent.Endpoint(id)
	if err != nil {
		return nil, err
	}
	if n, err := s.agent.NetworkByID(e.Network); err == nil && !s.agent.Publishes(n) { // Docker's own drivers ignore them there, too
		s.log.Info("published ports are ignored: the container has all its ports at its own address", "endpoint", e.ID.String(), "network", n.Name, "mode", n.Mode)
		return empty{}, nil
	}
	ports, err := mappings(wanted)
	if err == nil {
		_, err = s.agent.Publish(ctx, id, ports)
	}
	return empty{}, err
}

// unpublish removes the ports; a missing endpoint has none.
func (s *Server) unpublish(ctx context.Context, q endpointRef) (any, error) {
	_, err := s.agent.Publish(ctx, endpointID(q.EndpointID), nil)
	if errors.Is(err, heddle.NoEndpoint.Sentinel()) || endpointID(q.EndpointID).Check() != nil {
		err = nil
	}
	return empty{}, err
}

// mappings turns the engine's bindings into ours. A range of host ports stays one: the agent takes
// its first free port.
func mappings(wanted []portBinding) (all []heddle.PortMapping, err error) {
	for _, b := range wanted {
		m := heddle.PortMapping{HostPort: b.HostPort, ContainerPort: b.Port, Protocol: heddle.ProtocolName(b.Proto)}
		if b.HostPort != 0 && b.HostPortEnd > b.HostPort {
			m.HostPortEnd = b.HostPortEnd
		}
		if b.HostIP != "" {
			a, err := netip.ParseAddr(b.HostIP)
			if err != nil {
				return nil, heddle.Wrap(heddle.BadPort, "read host address", strconv.Quote(heddle.Clip(b.HostIP)), err,
					"publish as -p IP:HOST:CONTAINER")
			}
			m.HostIP = a.Unmap()
		}
		all = append(all, m)
	}
	return all, nil
}

// parsePorts reads the engine's list. A port that is published at all addresses of one family
// is for that family only, unless the list also has it for the other family. Engines may
// list a plain port twice, for IPv4 and IPv6; for us this is one port.
func parsePorts(raw any) (all []portBinding, err error) {
	if raw == nil {
		return nil, nil
	}
	text, err := json.Marshal(raw)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, heddle.Wrap(heddle.BadPort, "read published ports", "", err, "use Docker 20.10 or later")
	}
	var some []portBinding
	for _, b := range all {
		if heddle.ProtocolName(b.Proto) == "" {
			return nil, heddle.Errorf(heddle.BadPort, "publish port", fmt.Sprint(b.Port),
				fmt.Sprintf("IP protocol %d has no published ports", b.Proto), "publish over tcp, udp or sctp")
		}
		if b.Port == 0 {
			return nil, heddle.Errorf(heddle.BadPort, "publish port", "0", "it is out of range", "give a port from 1 to 65535")
		}
		b.IP = ""
		if listedForOtherFamily(all, b) {
			b.HostIP = ""
		}
		if !slices.Contains(some, b) {
			some = append(some, b)
		}
	}
	return some, nil
}

// listedForOtherFamily reports whether a port that is published at all addresses of one family is also
// in the list for the other family, or for both.
func listedForOtherFamily(all []portBinding, b portBinding) bool {
	a, err := netip.ParseAddr(b.HostIP)
	if err != nil || !a.IsUnspecified() {
		return false
	}
	return slices.ContainsFunc(all, func(other portBinding) bool {
		o, err := netip.ParseAddr(other.HostIP)
		both := other.HostIP == "" || err == nil && o.IsUnspecified() && heddle.FamilyOf(o) != heddle.FamilyOf(a)
		other.HostIP, other.IP = b.HostIP, ""
		return both && other == b
	})
}

// portBindings is what an endpoint publishes, in the engine's terms.
func portBindings(e heddle.Endpoint) (all []portBinding) {
	for _, m := range e.Ports {
		b := portBinding{Port: m.ContainerPort, HostPort: m.HostPort, HostPortEnd: m.HostPort, HostIP: "0.0.0.0"}
		number, _ := heddle.ProtocolNumber(m.Protocol)
		b.Proto = int(number)
		if m.HostIP.IsValid() {
			b.HostIP = m.HostIP.String()
		}
		for _, a := range e.Addrs {
			if a.Addr().Is4() || b.IP == "" {
				b.IP = a.Addr().String()
			}
		}
		all = append(all, b)
	}
	return all
}
