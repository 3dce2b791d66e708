package fleet_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// TestAddressGone takes a host its underlay address, gives it another, and gives
// the first one back: the status says what is the matter as long as it is.
func TestAddressGone(t *testing.T) {
	soak.Turn(t, 0)
	f := newCluster(t, 1)
	h := f.hosts[0]
	own := h.Addr4.String()
	says := func(want bool) func() error {
		return func() error {
			st, err := h.Status(context.Background())
			p := st.Part("tunnels")
			said := p.State == "bad" && strings.Contains(p.Detail, "no interface has this host's underlay address "+own)
			if p.Name != "" && said == want {
				return nil
			}
			return fmt.Errorf("%v: %w", st.Parts, err)
		}
	}
	world.Within(t, time.Minute, "all is well", says(false))
	line := strings.TrimSpace(h.Sh(t, "ip -o -4 address show dev eth0 | awk '{print $4}'"))
	h.Sh(t, "ip address del %s dev eth0; ip address add 192.0.2.99/24 dev eth0", line)
	world.Within(t, time.Minute, "the status says so", says(true))
	h.Sh(t, "ip address del 192.0.2.99/24 dev eth0; ip address add %s dev eth0", line)
	world.Within(t, time.Minute, "the address is back", says(false))
}
