package heddle

import (
	"fmt"
	"net/netip"
)

// The priorities (tc(8)) of our filters on an interface's egress. A priority is for
// filters of one kind and one protocol.
const (
	RedirectPriority4, RedirectPriority6 = RouteProtocol, RouteProtocol + 1
	// RedirectPriorityProgram is that of redirects by program, of both protocols.
	RedirectPriorityProgram = RouteProtocol + 2
)

// Redirect takes what leaves an interface for the addresses of a prefix into this
// namespace's own stack instead: it arrives on the device To, as if sent to the
// host. The filter is an eBPF program where the kernel can, else u32 with skbedit
// and mirred (tc-u32(8), tc-skbedit(8), tc-mirred(8)).
type Redirect struct {
	Link   string       `json:"link"`
	To     string       `json:"to"`
	Prefix netip.Prefix `json:"prefix"`
	// By is "" (whichever the kernel can), "ebpf" or "u32".
	By string `json:"by,omitempty"`
}

func (r Redirect) Key() string { return "redirect/" + r.Link + "/" + r.Prefix.String() }

func (r Redirect) comparable() any { return r }

// redirects writes them by u32, whose place on the interface any program of ours
// takes as well.
func (t typist) redirects(all []Redirect) []string {
	var out []string
	wired := map[string]bool{}
	for _, r := range all {
		if r.By == "ebpf" {
			out = append(out, fmt.Sprintf("# program to_host on the egress of %s: what goes to %s arrives on %s", r.Link, r.Prefix, r.To))
			continue
		}
		if !wired[r.Link] {
			out = append(out, t.tool("tc", "qdisc replace dev %s clsact", r.Link))
			wired[r.Link] = true
		}
		protocol, match, priority := "ip", "ip", RedirectPriority4
		if r.Prefix.Addr().Is6() {
			protocol, match, priority = "ipv6", "ip6", RedirectPriority6
		}
		out = append(out, t.tool("tc", "filter add dev %s egress protocol %s prio %d u32 match %s dst %s action skbedit ptype host pipe action mirred ingress redirect dev %s",
			r.Link, protocol, priority, match, r.Prefix, r.To))
	}
	return out
}
