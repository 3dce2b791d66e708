package commands

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

// No command sets up the fast path, so its objects are printed as descriptions.
func (w writer) remote(r heddle.Remote) []string {
	return []string{fmt.Sprintf("# fast path: peer %s by %s, MTU %d", r.Addr, r.Link, r.MTU)}
}

func (w writer) shortcut(x heddle.Shortcut) []string {
	switch {
	case x.Link != "":
		return []string{fmt.Sprintf("# fast path: %s (%s) behind %s", x.Prefix, x.MAC, x.Link)}
	case x.Peer.IsValid():
		return []string{fmt.Sprintf("# fast path: %s at peer %s", x.Prefix, x.Peer)}
	}
	return []string{fmt.Sprintf("# fast path: %s is left to the stack", x.Prefix)}
}

func (w writer) program(p heddle.Program) []string {
	name := "from_port"
	if p.Wire != nil {
		name = "from_wire"
	}
	return []string{fmt.Sprintf("# fast path: program %s on the ingress of %s", name, p.Link)}
}
