package client

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

// AdviceOnKeepers suggests changes of which hosts keep an embedded store; empty: none.
// Hosts that never appeared do not count.
func AdviceOnKeepers(all []HostStatus) string {
	hosts, keepers := 0, 0
	for _, h := range all {
		if h.State != "absent" {
			hosts++
		}
		if h.Role != "client" {
			keepers++
		}
	}
	const how = " with 'heddle host promote NAME'"
	switch {
	case keepers == 0 || hosts < 3:
		return ""
	case keepers < 3:
		return fmt.Sprintf("%s of %d hosts: if one host is lost, nothing can be changed any more; name %d more%s", heddle.Count(keepers, "keeper"), hosts, 3-keepers, how)
	case keepers%2 == 0 && keepers < hosts:
		return fmt.Sprintf("%s of %d hosts: one of them only stands by; name one more%s", heddle.Count(keepers, "keeper"), hosts, how)
	}
	return ""
}
