package main

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
)

// ParsePublish reads a published port, [IP:]HOST:CONTAINER[/tcp|/udp]. An IPv6
// address stands in brackets.
func ParsePublish(s string) (heddle.PortMapping, error) {
	m := heddle.PortMapping{Protocol: "tcp"}
	rest, protocol, found := strings.Cut(s, "/")
	if found {
		m.Protocol = protocol
	}
	host, rest, ok := cutAddress(rest)
	if !ok || (m.Protocol != "tcp" && m.Protocol != "udp") {
		return heddle.PortMapping{}, badPort(s)
	}
	m.HostIP = host
	outer, inner, _ := strings.Cut(rest, ":")
	var err1, err2 error
	m.HostPort, err1 = parsePort(outer)
	m.ContainerPort, err2 = parsePort(inner)
	if err1 != nil || err2 != nil {
		return heddle.PortMapping{}, badPort(s)
	}
	return m, nil
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

// parsePort reads a decimal number from 1 to 65535.
func parsePort(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err == nil && n == 0 {
		err = strconv.ErrRange
	}
	return uint16(n), err
}

func badPort(s string) error {
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return heddle.Errorf(heddle.BadPort, "read flag", "--publish", fmt.Sprintf("%q is not a published port", s),
		"give [IP:]HOST:CONTAINER[/tcp|/udp] with ports from 1 to 65535, such as 8080:80 or 127.0.0.1:5353:53/udp")
}

func parsePublished(words []string) (all []heddle.PortMapping, err error) {
	for _, w := range words {
		m, err := ParsePublish(w)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}
