package cni

import (
	"fmt"
	"strings"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/heddle-network/heddle"
)

// byLaterPlugin reports whether a finding is the result of a later plugin in the chain,
// such as tuning; the specification wants CHECK to accept it. A MAC address must be the one
// that the runtime remembers. Any MTU is allowed: tuning does not write it into the
// result, and checks its own. A finding's detail is a list of "want SETTING VALUE, have
// VALUE", one for each setting.
func byLaterPlugin(f heddle.Finding, e heddle.Endpoint, own *current.Interface) bool {
	if own == nil || f.Kind != "differs" || f.Object != (heddle.Link{Name: e.ID.IfName}).Key() {
		return false
	}
	mac := fmt.Sprintf("want mac %s, have %s", e.MAC, strings.ToLower(own.Mac))
	for _, part := range strings.Split(f.Detail, "; ") {
		if part != mac && !strings.HasPrefix(part, "want mtu ") {
			return false
		}
	}
	return true
}
