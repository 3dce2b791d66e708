package kernel

import (
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// SCTPListener is a socket of SCTP that waits for whoever calls.
type SCTPListener struct {
	Port uint16
	// Addrs are the host's addresses at which it waits.
	Addrs []netip.Addr
}

// SCTPListeners lists the sockets of SCTP that listen in the calling thread's network namespace. A
// kernel in which nobody has used SCTP has no file of them.
func SCTPListeners() ([]SCTPListener, error) {
	text, err := os.ReadFile("/proc/thread-self/net/sctp/eps")
	if os.IsNotExist(err) {
		return nil, nil
	}
	return parseSCTPListeners(string(text)), err
}

// parseSCTPListeners reads that file (net/sctp/proc.c): the port is in the sixth column, the
// addresses are in the ninth and after it.
func parseSCTPListeners(text string) (all []SCTPListener) {
	const columnPort, columnAddrs = 5, 8
	for line := range strings.Lines(text) {
		columns := strings.Fields(line)
		if len(columns) <= columnAddrs {
			continue
		}
		port, err := strconv.ParseUint(columns[columnPort], 10, 16)
		if err != nil {
			continue // the header
		}
		l := SCTPListener{Port: uint16(port)}
		for _, column := range columns[columnAddrs:] {
			if a, err := netip.ParseAddr(strings.TrimPrefix(column, "*")); err == nil {
				l.Addrs = append(l.Addrs, a.Unmap())
			}
		}
		all = append(all, l)
	}
	return all
}
