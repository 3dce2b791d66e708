package cni

import (
	"fmt"
	"strings"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/heddle-network/heddle"
)

// tuned reports whether a finding is the work of a later plugin of the chain,
// such as tuning: the container's interface has the MAC address and MTU that
// the runtime remembers, not those that were planned. An older version's result
// has no MTU, so any is then accepted. A finding's detail is a list of
// "want SETTING VALUE, have VALUE", one for each setting.
func tuned(f heddle.Finding, e heddle.Endpoint, own *current.Interface) bool {
	if own == nil || f.Kind != "differs" || f.Object != (heddle.Link{Name: e.ID.IfName}).Key() {
		return false
	}
	mac := fmt.Sprintf("want mac %s, have %s", e.MAC, strings.ToLower(own.Mac))
	mtu := fmt.Sprintf("want mtu %d, have ", e.MTU)
	for _, part := range strings.Split(f.Detail, "; ") {
		have, isMTU := strings.CutPrefix(part, mtu)
		switch {
		case part == mac:
		case isMTU && (own.Mtu == 0 || have == fmt.Sprint(own.Mtu)):
		default:
			return false
		}
	}
	return true
}
