package main

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
)

// portSyntax is what --publish takes.
const portSyntax = "[IP:][HOST[-END]:]CONTAINER[-END][/tcp|/udp|/sctp]"

// ParsePublish reads what --publish takes: a port, or a range of them. Without HOST, or where it is
// 0, the agent chooses the port of the host. A range of the host's for one port of the container's
// asks for its first free port. An IPv6 address stands in brackets.
func ParsePublish(s string) ([]heddle.PortMapping, error) {
	m := heddle.PortMapping{Protocol: "tcp"}
	ports, protocol, found := strings.Cut(s, "/")
	if found {
		m.Protocol = protocol
	}
	_, known := heddle.ProtocolNumber(m.Protocol)
	address, ports, ok := cutAddress(ports)
	if !ok || !known {
		return nil, badPort(s)
	}
	m.HostIP = address
	outer, inner, two := strings.Cut(ports, ":")
	if !two {
		outer, inner = "0", ports
	} else if outer == "" && address.IsValid() {
		outer = "0"
	}
	host, ok1 := parseRange(outer)
	container, ok2 := parseRange(inner)
	if !ok1 || !ok2 || container.first == 0 {
		return nil, badPort(s)
	}
	if host.first != 0 && host.len() != container.len() && container.len() > 1 {
		return nil, heddle.Errorf(heddle.BadPort, "read flag", "--publish",
			fmt.Sprintf("%q has %d ports of the host for %d of the container", heddle.Clip(s), host.len(), container.len()),
			"give ranges of one length, such as 8000-8010:80-90; or one port of the container, which gets the first free port of the range")
	}
	if container.len() > heddle.MaxPorts {
		return nil, heddle.Errorf(heddle.TooMuch, "read flag", "--publish",
			fmt.Sprintf("%q has %d ports", heddle.Clip(s), container.len()), fmt.Sprintf("publish at most %d ports", heddle.MaxPorts))
	}
	return host.onto(container, m), nil
}

// portRange is the ports from first to last, one port or more. The ports of the host may be 0: any.
type portRange struct{ first, last int }

func (r portRange) len() int { return r.last - r.first + 1 }

// onto maps the host's ports onto the container's, each with the address and protocol of m.
func (r portRange) onto(container portRange, m heddle.PortMapping) (all []heddle.PortMapping) {
	if m.HostPort = uint16(r.first); r.len() > container.len() {
		m.HostPortEnd = uint16(r.last)
	}
	for port := container.first; port <= container.last; port++ {
		m.ContainerPort = uint16(port)
		all = append(all, m)
		if r.first != 0 {
			m.HostPort++
		}
	}
	return all
}

// parseRange reads "80" or "80-90".
func parseRange(s string) (r portRange, ok bool) {
	first, last, two := strings.Cut(s, "-")
	from, err := strconv.ParseUint(first, 10, 16)
	if err != nil || !two {
		return portRange{int(from), int(from)}, err == nil
	}
	to, err := strconv.ParseUint(last, 10, 16)
	return portRange{int(from), int(to)}, err == nil && from > 0 && to >= from
}

// cutAddress splits off the host's address at the front, if there is one.
func cutAddress(s string) (a netip.Addr, rest string, ok bool) {
	if strings.HasPrefix(s, "[") {
		address, rest, found := strings.Cut(s[1:], "]:")
		a, err := netip.ParseAddr(address)
		return a.Unmap(), rest, found && err == nil && a.Is6() && a.Zone() == ""
	}
	if strings.Count(s, ":") < 2 {
		return netip.Addr{}, s, true
	}
	address, rest, _ := strings.Cut(s, ":")
	a, err := netip.ParseAddr(address)
	return a, rest, err == nil
}

func badPort(s string) error {
	return heddle.Errorf(heddle.BadPort, "read flag", "--publish", fmt.Sprintf("%q is not a published port", heddle.Clip(s)),
		"give "+portSyntax+" with ports from 1 to 65535, such as 8080:80, 127.0.0.1:5353:53/udp, 8000-8010:80-90 or 80")
}

func parsePublished(words []string) (all []heddle.PortMapping, err error) {
	for _, w := range words {
		some, err := ParsePublish(w)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}
