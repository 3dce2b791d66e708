package names

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// Index is a network that is prepared for look-ups. It does not change.
type Index struct {
	Network
	// label is the network's name as it stands in a question: in small letters.
	label string
	// addrs has the addresses of each name, each once, and names the names of each address.
	addrs map[string][]netip.Addr
	names map[netip.Addr][]string
	// targets has, for each name, the endpoints that have published ports.
	targets map[string][]Target
}

// NewIndex prepares a network. Names that no DNS message can hold are left out.
func NewIndex(n Network) *Index {
	x := &Index{Network: n, label: strings.ToLower(n.Name),
		addrs: make(map[string][]netip.Addr, len(n.Endpoints)), names: make(map[netip.Addr][]string, len(n.Endpoints)), targets: map[string][]Target{}}
	room := heddle.MaxName - len(x.label) - len(Domain) - 2
	known := map[string]map[netip.Addr]bool{}
	for _, e := range n.Endpoints {
		full := x.addOwn(e, room)
		for _, name := range e.names() {
			if !valid(name, room) {
				continue
			}
			if full != "" && len(e.Ports) > 0 {
				x.targets[name] = append(x.targets[name], Target{full, e.Addrs, e.Ports})
			}
			if known[name] == nil {
				known[name] = map[netip.Addr]bool{}
				x.addrs[name] = nil
			}
			for _, a := range e.Addrs {
				if !known[name][a] {
					known[name][a] = true
					x.addrs[name] = append(x.addrs[name], a)
				}
			}
		}
	}
	return x
}

// addOwn adds the name by which the endpoint's addresses are told: its own, or its first alias. It
// returns the full name, "" if there is none.
func (x *Index) addOwn(e Endpoint, room int) (full string) {
	all := e.names()
	if len(all) == 0 || !valid(all[0], room) {
		return ""
	}
	full = all[0] + "." + x.label + "." + Domain
	for _, a := range e.Addrs {
		if !slices.Contains(x.names[a], full) {
			x.names[a] = append(x.names[a], full)
		}
	}
	return full
}

// names are all names of the endpoint, in small letters, its own first.
func (e Endpoint) names() []string {
	var all []string
	for _, name := range append([]string{e.Name}, e.Aliases...) {
		if name != "" {
			all = append(all, strings.ToLower(name))
		}
	}
	return all
}

// valid reports whether a name fits the room and has only letters, digits, '-' and '_' between
// its dots: other characters are written differently in questions.
func valid(name string, room int) bool {
	if len(name) > room {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > heddle.MaxNameLabel || strings.ContainsFunc(label, special) {
			return false
		}
	}
	return true
}

func special(r rune) bool {
	letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	return !letter && r != '-' && r != '_'
}
