package names

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
)

// MaxPorts is how many ports of an endpoint others hear of.
const MaxPorts = 64

var portForm = lazyregexp.New(`^([1-9][0-9]{0,4})/(tcp|udp|sctp)$`)

// Ports are an endpoint's ports that are published, as tables and records have them: "80/tcp".
func Ports(published []heddle.PortMapping) (all []string) {
	for _, p := range published {
		all = append(all, fmt.Sprintf("%d/%s", p.ContainerPort, p.Protocol))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), MaxPorts)]
}

// BadPorts says what is wrong with the ports of a record; "" if nothing is.
func BadPorts(all []string) string {
	if len(all) > MaxPorts {
		return fmt.Sprintf("it has %d ports", len(all))
	}
	for i, p := range all {
		part := portForm.FindStringSubmatch(p)
		if part == nil {
			return "it has a malformed port"
		}
		if _, err := strconv.ParseUint(part[1], 10, 16); err != nil || i > 0 && p <= all[i-1] {
			return "its ports are too high, or not in order"
		}
	}
	return ""
}

// Target is a container that serves: its full name, and its addresses.
type Target struct {
	Name  string
	Addrs []netip.Addr
	ports []string
}

// Targets are the containers behind a name, as Lookup reads it, that have published a port, such as
// "80/tcp"; found says whether there is such a name.
func (a *Asker) Targets(name, port string) (all []Target, found bool) {
	_, found = a.Lookup(name)
	short, among := a.place(strings.ToLower(name))
	if among == nil {
		return nil, found
	}
	for _, x := range a.indexes {
		if !among(x) {
			continue
		}
		for _, t := range x.targets[short] {
			if slices.Contains(t.ports, port) {
				all = append(all, t)
			}
		}
	}
	return all, found
}
