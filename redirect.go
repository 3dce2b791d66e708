package heddle

import (
	"net/netip"
)

// The priorities (tc(8)) of our filters on an interface's egress. A priority is for
// filters of one kind and one protocol.
const (
	RedirectPriority4, RedirectPriority6 = RouteProtocol, RouteProtocol + 1
	// RedirectPriorityProgram is that of redirects by program, of both protocols.
	RedirectPriorityProgram = RouteProtocol + 2
)

// Redirect catches packets that leave an interface for a prefix, and delivers them to
// this namespace's own stack: they arrive on the device To, as if sent to the host. The
// filter is an eBPF program where the kernel supports it, else u32 with skbedit and
// mirred (tc-u32(8), tc-skbedit(8), tc-mirred(8)).
type Redirect struct {
	Link   string       `json:"link"`
	To     string       `json:"to"`
	Prefix netip.Prefix `json:"prefix"`
	// By is "" (whichever the kernel can), "ebpf" or "u32".
	By string `json:"by,omitempty"`
}

func (r Redirect) Key() string { return "redirect/" + r.Link + "/" + r.Prefix.String() }

func (r Redirect) comparable() any { return r }
