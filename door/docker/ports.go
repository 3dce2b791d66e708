package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// portBinding is the engine's published port (moby, libnetwork/types.PortBinding).
// Proto is the IP protocol's number. HostPort 0 asks for any; a range from
// HostPort to HostPortEnd for any of it.
type portBinding struct {
	Proto                 int
	IP                    string
	Port                  uint16
	HostIP                string
	HostPort, HostPortEnd uint16
}

var protocols = map[int]string{6: "tcp", 17: "udp"}

// The range from which the engine gives out ports (moby, libnetwork/portallocator,
// the kernel's default of ip_local_port_range).
const firstPort, lastPort = 32768, 60999

// publish is called for the endpoint that is the container's way out, after Join.
func (s *Server) publish(ctx context.Context, q programExternal) (any, error) {
	wanted, err := portsOf(q.Options[keyPorts])
	if err != nil {
		return nil, err
	}
	id := endpointID(q.EndpointID)
	if len(wanted) == 0 {
		return nothing{}, nil
	}
	e, err := s.agent.Endpoint(id)
	if err != nil {
		return nil, err
	}
	if serves(e.Ports, wanted) {
		return nothing{}, nil
	}
	return nothing{}, s.choose(ctx, id, wanted)
}

// unpublish takes the ports back; an endpoint that is gone has none.
func (s *Server) unpublish(ctx context.Context, q endpointRef) (any, error) {
	err := s.agent.Publish(ctx, endpointID(q.EndpointID), nil)
	if errors.Is(err, heddle.NoEndpoint.Sentinel()) || endpointID(q.EndpointID).Check() != nil {
		err = nil
	}
	return nothing{}, err
}

// tries bounds how often a port that somebody took meanwhile is chosen anew.
const tries = 64

// choose publishes, with a free port for each that leaves it to us.
func (s *Server) choose(ctx context.Context, id heddle.EndpointID, wanted []portBinding) error {
	var err error
	for range tries {
		ports := make([]heddle.PortMapping, len(wanted))
		for i, b := range wanted {
			if ports[i], err = s.settle(b, ports[:i]); err != nil {
				return err
			}
		}
		err = s.agent.Publish(ctx, id, ports)
		if !errors.Is(err, heddle.PortTaken.Sentinel()) || !slices.ContainsFunc(wanted, portBinding.open) || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// open says that the host's port is ours to choose.
func (b portBinding) open() bool { return b.HostPort == 0 || b.HostPortEnd > b.HostPort }

func (s *Server) settle(b portBinding, others []heddle.PortMapping) (m heddle.PortMapping, err error) {
	m = heddle.PortMapping{HostPort: b.HostPort, ContainerPort: b.Port, Protocol: protocols[b.Proto]}
	if b.HostIP != "" {
		a, err := netip.ParseAddr(b.HostIP)
		if err != nil {
			return m, heddle.Wrap(heddle.BadPort, "read Docker's host address", clip(b.HostIP), err, "publish as -p IP:HOST:CONTAINER")
		}
		if a = a.Unmap(); !a.IsUnspecified() {
			m.HostIP = a
		}
	}
	if !b.open() {
		return m, nil
	}
	from, to := b.HostPort, b.HostPortEnd
	if from == 0 {
		from, to = firstPort, lastPort
	}
	for p := int(from); p <= int(to); p++ {
		m.HostPort = uint16(p)
		taken := slices.ContainsFunc(others, func(o heddle.PortMapping) bool { return o.HostPort == m.HostPort && o.Protocol == m.Protocol })
		if !taken && s.agent.PortFree(m) {
			return m, nil
		}
	}
	return m, heddle.Errorf(heddle.PortTaken, "every host port from", fmt.Sprintf("%d to %d", from, to), "name a free one")
}

// portsOf reads the engine's list. The engine repeats a port of all addresses for
// IPv4 and IPv6, which is one of ours.
func portsOf(raw any) (all []portBinding, err error) {
	if raw == nil {
		return nil, nil
	}
	text, err := json.Marshal(raw)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, heddle.Wrap(heddle.BadPort, "read Docker's published ports", "", err, "is this an engine from 20.10 on?")
	}
	var some []portBinding
	for _, b := range all {
		if protocols[b.Proto] == "" {
			return nil, heddle.Errorf(heddle.BadPort, "published port", fmt.Sprintf("%d over IP protocol %d", b.Port, b.Proto), "ports are published over tcp or udp")
		}
		if b.Port == 0 {
			return nil, heddle.Errorf(heddle.BadPort, "published port", "0", "ports are from 1 to 65535")
		}
		if a, err := netip.ParseAddr(b.HostIP); err == nil && a.IsUnspecified() {
			b.HostIP = ""
		}
		b.IP = ""
		if !slices.Contains(some, b) {
			some = append(some, b)
		}
	}
	return some, nil
}

// serves reports whether an endpoint publishes what is wanted: the engine asks
// again when it has restarted.
func serves(has []heddle.PortMapping, wanted []portBinding) bool {
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

// bindingsOf is what an endpoint publishes, in the engine's terms.
func bindingsOf(e heddle.Endpoint) (all []portBinding) {
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
