package ipvlan_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/test/world"
)

// TestNames: containers ask for names by the device that the host has beside them, in each sub-mode.
// A host of the LAN that asks there hears nothing.
func TestNames(t *testing.T) {
	needIPvlan(t)
	for _, sub := range []string{"l2", "l3", "l3s"} {
		t.Run(sub, func(t *testing.T) {
			var folders agent.Options
			w := world.New(t, world.Answering(t, &folders))
			w.Network(t, "lan", "ipvlan", world.With("ipvlan_mode="+sub), func(n *heddle.Network) {
				n.Subnets = nil
				n.Ranges = []netip.Prefix{netip.MustParsePrefix("192.0.2.128/25"), netip.MustParsePrefix("2001:db8::1:0/112")}
			})
			web := w.Pod(t, "web", "lan", func(r *heddle.AttachRequest) { r.Name = "web" })
			asker := w.Pod(t, "asker", "lan")
			for _, f := range heddle.Families() {
				at := heddle.ResolverAddr(f)
				world.Within(t, world.RepairTime, fmt.Sprint(at, " answers"), func() error {
					said, err := world.Resolve(asker, "udp", at, "web", dns.TypeA)
					if err == nil && said != web.V4().String() {
						err = fmt.Errorf("it says %s", said)
					}
					return err
				})
				asker.Reaches(t, at)
				if sub != "l2" {
					continue
				}
				if said, err := world.Resolve(asker, "tcp", at, "web", dns.TypeA); err != nil || said != web.V4().String() {
					t.Errorf("by TCP it says %s, %v", said, err)
				}
				w.Outside.Sh(t, "ip route add %s dev eth0 && ip neighbour add %[1]s lladdr %s dev eth0", at, w.Host.Sh(t, "cat /sys/class/net/up0/address"))
				if said, err := world.Resolve(w.Outside, "udp", at, "web", dns.TypeA); err == nil {
					t.Errorf("the LAN is told %s at %s", said, at)
				}
				w.Outside.Silent(t, at)
			}
		})
	}
}
