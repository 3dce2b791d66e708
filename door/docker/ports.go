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

var protocols = map[int]string{6: "tcp", 17: "udp"}

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
	if publishesAll(e.Ports, wanted) {
		return empty{}, nil
	}
	return empty{}, s.publishFreePorts(ctx, id, wanted)
}

// unpublish removes the ports; a missing endpoint has none.
func (s *Server) unpublish(ctx context.Context, q endpointRef) (any, error) {
	_, err := s.agent.Publish(ctx, endpointID(q.EndpointID), nil)
	if errors.Is(err, heddle.NoEndpoint.Sentinel()) || endpointID(q.EndpointID).Check() != nil {
		err = nil
	}
	return empty{}, err
}

// publishFreePorts publishes the ports. From a range of host ports it takes the first port that is
// free for all bindings with this range. If any port may be used (port 0), the agent
// chooses it.
func (s *Server) publishFreePorts(ctx context.Context, id heddle.EndpointID, wanted []portBinding) error {
	for offset := uint16(0); ; offset++ {
		ports, more, err := resolvePorts(wanted, offset)
		if err != nil {
			return err
		}
		_, err = s.agent.Publish(ctx, id, ports)
		if !errors.Is(err, heddle.PortTaken.Sentinel()) || !more || ctx.Err() != nil {
			return err
		}
	}
}

// resolvePorts gives each binding the port at the offset in its range, or its last port if the
// offset is beyond; more says that at least one range has more ports.
func resolvePorts(wanted []portBinding, offset uint16) (all []heddle.PortMapping, more bool, err error) {
	for _, b := range wanted {
		m := heddle.PortMapping{HostPort: b.HostPort, ContainerPort: b.Port, Protocol: protocols[b.Proto]}
		if room := max(b.HostPortEnd, b.HostPort) - b.HostPort; b.HostPort != 0 {
			m.HostPort += min(offset, room)
			more = more || offset < room
		}
		if b.HostIP != "" {
			a, err := netip.ParseAddr(b.HostIP)
			if err != nil {
				return nil, false, heddle.Wrap(heddle.BadPort, "read host address", strconv.Quote(heddle.Clip(b.HostIP)), err,
					"publish as -p IP:HOST:CONTAINER")
			}
			m.HostIP = a.Unmap()
		}
		all = append(all, m)
	}
	return all, more, nil
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
		if protocols[b.Proto] == "" {
			return nil, heddle.Errorf(heddle.BadPort, "publish port", fmt.Sprint(b.Port),
				fmt.Sprintf("IP protocol %d has no published ports", b.Proto), "publish over tcp or udp")
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

// publishesAll reports whether an endpoint already publishes what is wanted: the engine asks
// again after a restart.
func publishesAll(has []heddle.PortMapping, wanted []portBinding) bool {
	for _, b := range wanted {
		fits := func(m heddle.PortMapping) bool {
			host := ""
			if m.HostIP.IsValid() {
				host = m.HostIP.String()
			}
			return m.ContainerPort == b.Port && m.Protocol == protocols[b.Proto] && host == b.HostIP &&
				(b.HostPort == 0 || m.HostPort >= b.HostPort && m.HostPort <= max(b.HostPort, b.HostPortEnd))
		}
		if !slices.ContainsFunc(has, fits) {
			return false
		}
	}
	return len(has) == len(wanted)
}

// portBindings is what an endpoint publishes, in the engine's terms.
func portBindings(e heddle.Endpoint) (all []portBinding) {
	for _, m := range e.Ports {
		b := portBinding{Port: m.ContainerPort, HostPort: m.HostPort, HostPortEnd: m.HostPort, HostIP: "0.0.0.0"}
		for number, name := range protocols {
			if name == m.Protocol {
				b.Proto = number
			}
		}
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
