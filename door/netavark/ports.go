package netavark

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
)

// mappings are the published ports, one for each port of a range and each protocol.
func mappings(all []port) (ports []heddle.PortMapping, err error) {
	for _, p := range all {
		m := heddle.PortMapping{}
		if p.HostIP != "" {
			if m.HostIP, err = netip.ParseAddr(p.HostIP); err != nil {
				return nil, heddle.Wrap(heddle.BadPort, "read host address", strconv.Quote(heddle.Clip(p.HostIP)), err, "publish as -p IP:HOST:CONTAINER")
			}
			m.HostIP = m.HostIP.Unmap()
		}
		count := max(int(p.Range), 1)
		if p.ContainerPort == 0 || p.HostPort == 0 || int(max(p.ContainerPort, p.HostPort))+count > 1<<16 {
			return nil, heddle.Errorf(heddle.BadPort, "publish port", fmt.Sprintf("%d:%d", p.HostPort, p.ContainerPort),
				"it, or the last port of its range, is out of range", "give ports from 1 to 65535")
		}
		for _, m.Protocol = range strings.Split(strings.ToLower(p.Protocol), ",") {
			if m.Protocol == "" {
				m.Protocol = "tcp"
			}
			if _, known := heddle.ProtocolNumber(m.Protocol); !known {
				return nil, heddle.Errorf(heddle.BadPort, "publish port", fmt.Sprint(p.ContainerPort),
					fmt.Sprintf("protocol %q has no published ports", heddle.Clip(m.Protocol)), "publish over tcp, udp or sctp")
			}
			if len(ports)+count > heddle.MaxPorts {
				return nil, heddle.Errorf(heddle.TooMuch, "publish ports", "", "the container has too many",
					fmt.Sprintf("publish at most %d", heddle.MaxPorts))
			}
			for i := range uint16(count) {
				m.HostPort, m.ContainerPort = p.HostPort+i, p.ContainerPort+i
				ports = append(ports, m)
			}
		}
	}
	return ports, nil
}
