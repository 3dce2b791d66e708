package heddle

import (
	"fmt"
	"net/netip"
)

// CheckHostBits says what is wrong with a subnet that is written as an address of it, such as
// 10.0.0.1/24, and what to write; "" if nothing is. Docker and ip-route(8) refuse it, too: whoever
// wrote it may mean the gateway.
func CheckHostBits(p netip.Prefix) (cause, remedy string) {
	if !p.IsValid() || p == p.Masked() {
		return "", ""
	}
	return fmt.Sprintf("%s is an address in %s, and no subnet", p, p.Masked()), "give " + p.Masked().String() + ", and the gateway with --gateway"
}
