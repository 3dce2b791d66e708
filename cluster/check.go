package cluster

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
	"github.com/heddle-network/heddle/lazyregexp"
	"github.com/heddle-network/heddle/path"
)

// The store grants rights by key prefix and does not check values. So every reader does. A
// check function gets the contents of a record and returns why it is not accepted, "" if it
// is. A refused record has an effect on its writer only.

// Bounds of what a record may hold, besides those of networks (heddle.Bounded).
const (
	maxText = 4096 // of a reason
	maxWord = 128  // versions, endpoints
)

var (
	idForm   = lazyregexp.New(`^[0-9a-f]{16}$`)
	hostForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`) // as package join has it
)

func checkCluster(c *clusterRecord) string {
	switch {
	case !idForm.MatchString(c.ID):
		return "its id is none"
	case c.VNI == 0 || c.VNI >= 1<<24:
		return "its VNI is none"
	case c.Port == 0:
		return "its port is none"
	}
	if _, known := path.Named(c.Path); !known {
		return fmt.Sprintf("its path %q is one that this host does not know", heddle.Clip(c.Path))
	}
	if err := CheckRanges(c.Ranges); err != nil {
		return heddle.SentenceOf(err)
	}
	return ""
}

// checkNetwork checks a network by itself, and removes duplicates from its lists. Fits is
// the check of the modes.
func checkNetwork(key string, n *heddle.Network, fits func(heddle.Network) error) string {
	switch {
	case n.Name != key:
		return fmt.Sprintf("it says that its name is %q", heddle.Clip(n.Name))
	case heddle.CheckNetworkName(n.Name) != nil:
		return "its name is none"
	case !idForm.MatchString(n.ID):
		return "its id is none"
	case n.Parent != "":
		return "it names an interface, which is every host's own"
	case n.MTU != 0 && (n.MTU < 576 || n.MTU > 65535):
		return fmt.Sprintf("its MTU is %d", n.MTU)
	}
	bounded, err := heddle.Bounded(*n)
	if err != nil {
		return heddle.SentenceOf(err)
	}
	*n = bounded
	checked, err := ipam.Check(*n)
	if err != nil {
		return heddle.SentenceOf(err)
	}
	if !SameAddresses(checked, *n) || !slices.Equal(checked.Reserved, n.Reserved) {
		return "its subnets, gateways and ranges are not in their canonical form"
	}
	if fits == nil {
		return ""
	}
	if err := fits(*n); err != nil {
		return heddle.SentenceOf(err)
	}
	return ""
}

func checkHost(name string, h *hostRecord) string {
	switch {
	case h.Name != name:
		return fmt.Sprintf("it says that its name is %q", heddle.Clip(h.Name))
	case !hostForm.MatchString(h.Name):
		return "its name is none"
	case !idForm.MatchString(h.ID):
		return "its id is none"
	case len(h.Underlay) > 2 || len(h.Underlay) == 2 && heddle.FamilyOf(h.Underlay[0]) == heddle.FamilyOf(h.Underlay[1]):
		return "it has more than one underlay address of a family"
	case h.MTU < 0 || h.MTU > 65536:
		return fmt.Sprintf("its MTU is %d", h.MTU)
	case !printable(h.Version) || !printable(h.Run):
		return "its version is none"
	}
	return ""
}

// checkUnderlay checks the addresses at which a host says that others reach it.
func checkUnderlay(h *hostRecord) string {
	for _, a := range h.Underlay {
		if what := unreachable(a); what != "" {
			return "its underlay address " + a.String() + " is " + what
		}
	}
	return ""
}

// reserved addresses (RFC 1112), the limited broadcast (RFC 919) among them.
var reserved = netip.MustParsePrefix("240.0.0.0/4")

// unreachable says why no host can be at an address, "" if one can.
func unreachable(a netip.Addr) string {
	switch {
	case !a.IsValid():
		return "none"
	case a.IsUnspecified() || a.Is4() && a.As4()[0] == 0:
		return "unspecified"
	case a.Is4In6():
		return "IPv4 written as IPv6"
	case a.IsLoopback():
		return "loopback"
	case a.IsMulticast():
		return "multicast"
	case a.IsLinkLocalUnicast() || a.Zone() != "":
		return "link-local"
	case a.Is4() && reserved.Contains(a):
		return "broadcast, or reserved"
	}
	return ""
}

// printable says whether a text is short and of printable ASCII.
func printable(s string) bool {
	return len(s) <= maxWord && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// checkBlock checks the owner in a block's record.
func checkBlock(v *blockRecord) string {
	if !idForm.MatchString(v.Host) {
		return "it names no host"
	}
	return ""
}

// checkHolder checks the host ID in a record of an address or a want: it must be the
// writer's.
func checkHolder(id string, writer *hostRecord) string {
	if !idForm.MatchString(id) {
		return "it names no host"
	}
	if writer != nil && writer.ID != id {
		return "it is in the name of another host"
	}
	return ""
}

func isBlock(n heddle.Network, p netip.Prefix) bool {
	return slices.ContainsFunc(n.Subnets, func(s netip.Prefix) bool { return s.Contains(p.Addr()) && heddle.BlockOf(s, p.Addr()) == p })
}

// checkAddress checks an address that a host asks for, has or answers about.
func checkAddress(p netAddr, n *heddle.Network) string {
	if n != nil && !slices.ContainsFunc(n.Subnets, func(s netip.Prefix) bool { return s.Contains(p.ip) }) {
		return "the address is not of its network"
	}
	return ""
}

// checkAnswer checks an answer of host from to the host named asker, nil if there is
// no such host.
func checkAnswer(i item, v *answerRecord, asker *hostRecord) string {
	switch m := v.Move; {
	case asker != nil && asker.ID != v.Host:
		return "it is for a host that is not of its name"
	case len(v.Denied) > maxText:
		return "its reason is too long"
	case m == nil:
		return ""
	case m.Network != i.addr.network || m.Addr != i.addr.ip || m.From != i.host || m.To != i.asker:
		return "it moves another address, or from or to another host"
	case m.Endpoint.Check() != nil:
		return "it moves what is no endpoint"
	case m.MAC != "" && parsedMAC(m.MAC) != m.MAC:
		return "it moves a MAC address that is none"
	}
	name, aliases, err := heddle.CheckNames(v.Move.Endpoint.String(), v.Move.Name, v.Move.Aliases)
	if err != nil || name != v.Move.Name || !slices.Equal(aliases, v.Move.Aliases) {
		return "it moves names that are none"
	}
	return ""
}

func parsedMAC(m heddle.MAC) heddle.MAC {
	p, err := heddle.ParseMAC(string(m))
	if err != nil {
		return ""
	}
	return p
}

// decode reads a record's value. Text that is not valid JSON of the record's form is no
// record.
func decode(text []byte, into any) string {
	if len(text) > heddle.MaxRecord {
		return fmt.Sprintf("it has %d bytes", len(text))
	}
	if err := json.Unmarshal(text, into); err != nil {
		return "it cannot be read: " + err.Error()
	}
	return ""
}

func joinPrefixes(all []netip.Prefix) string {
	var texts []string
	for _, p := range all {
		texts = append(texts, p.String())
	}
	return strings.Join(texts, ", ")
}
