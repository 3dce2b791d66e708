package heddle_test

import (
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

func TestFormatPorts(t *testing.T) {
	m := func(host, container uint16, protocol string) heddle.PortMapping {
		return heddle.PortMapping{HostPort: host, ContainerPort: container, Protocol: protocol}
	}
	for want, all := range map[string][]heddle.PortMapping{
		"":                              nil,
		"8000:80/tcp":                   {m(8000, 80, "tcp")},
		"8000-8002:80-82/tcp":           {m(8000, 80, "tcp"), m(8001, 81, "tcp"), m(8002, 82, "tcp")},
		"8000-8001:80-81/tcp 9:9/udp":   {m(8000, 80, "tcp"), m(8001, 81, "tcp"), m(9, 9, "udp")},
		"8000:80/tcp 8001:81/udp":       {m(8000, 80, "tcp"), m(8001, 81, "udp")},
		"8000:80/tcp 8001:80/tcp":       {m(8000, 80, "tcp"), m(8001, 80, "tcp")},
		"65534-65535:1-2/tcp 0:3/tcp":   {m(65534, 1, "tcp"), m(65535, 2, "tcp"), m(0, 3, "tcp")},
		"8001:81/tcp 8000:80/tcp":       {m(8001, 81, "tcp"), m(8000, 80, "tcp")},
		"7000:1/tcp 8000-8001:1-2/sctp": {m(7000, 1, "tcp"), m(8000, 1, "sctp"), m(8001, 2, "sctp")},
	} {
		if got := strings.Join(heddle.FormatPorts(all), " "); got != want {
			t.Errorf("%v: got %q, want %q", all, got, want)
		}
	}
}

// TestAdmits: what is asked for is met by the port that was chosen for it, and by nothing else.
func TestAdmits(t *testing.T) {
	got := heddle.PortMapping{HostPort: 8001, ContainerPort: 80, Protocol: "tcp"}
	for text, asked := range map[string]heddle.PortMapping{
		"any":   {ContainerPort: 80, Protocol: "tcp"},
		"range": {HostPort: 8000, HostPortEnd: 8001, ContainerPort: 80, Protocol: "tcp"},
		"it":    got,
	} {
		if !asked.Admits(got) {
			t.Errorf("%s: %v does not admit %v", text, asked, got)
		}
	}
	for text, asked := range map[string]heddle.PortMapping{
		"below":     {HostPort: 8002, HostPortEnd: 8003, ContainerPort: 80, Protocol: "tcp"},
		"above":     {HostPort: 7000, HostPortEnd: 8000, ContainerPort: 80, Protocol: "tcp"},
		"another":   {HostPort: 8000, ContainerPort: 80, Protocol: "tcp"},
		"container": {ContainerPort: 81, Protocol: "tcp"},
		"protocol":  {ContainerPort: 80, Protocol: "udp"},
	} {
		if asked.Admits(got) {
			t.Errorf("%s: %v admits %v", text, asked, got)
		}
	}
}
