package policy_test

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestUnderFire: somebody never stops sending to an endpoint that comes and goes, and the endpoint sends as soon as it can. Nothing passes
// before its policy, in any of the attaches; without one, it does.
func TestUnderFire(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	enemy := w.Pod(t, "enemy", "net", named("enemy"))
	const policies = `
policies:
- {name: hidden, endpoints: {labels: {app: hidden}}, directions: [ingress, egress]}`
	enforce(t, w, policies)
	const mac, v4, v6 = "02:00:00:00:07:07", "10.20.7.7", "fd20::707"
	target := world.NewNetns(t, "target")
	target.Sh(t, "ip link set lo up")
	target.Sh(t, "nft 'add table inet seen; add counter inet seen heard; add chain inet seen in { type filter hook prerouting priority -400; }; add rule inet seen in iifname eth0 udp dport 4444 counter name heard'")
	heard := func() bool { return !strings.Contains(target.Sh(t, "nft list counter inet seen heard"), "packets 0") }
	enemy.Sh(t, "ip neighbour replace %s lladdr %s dev eth0; ip neighbour replace %s lladdr %s dev eth0", v4, mac, v6, mac)
	var over atomic.Bool
	var firing sync.WaitGroup
	fire := func(from world.Netns, to ...string) {
		for _, a := range to {
			firing.Add(1)
			go func() {
				defer firing.Done()
				for !over.Load() {
					c, err := from.Dial("udp", netip.AddrPort{}, netip.AddrPortFrom(netip.MustParseAddr(a), 4444), time.Second)
					if err != nil {
						time.Sleep(time.Millisecond)
						continue
					}
					for i := 0; i < 2000 && !over.Load(); i++ {
						fmt.Fprint(c, "fire")
						if i%20 == 0 {
							time.Sleep(time.Millisecond)
						}
					}
					c.Close()
				}
			}()
		}
	}
	defer firing.Wait()
	defer over.Store(true)
	at := enemy.Capture(t, "eth0")
	fire(enemy.Netns, v4, v6)
	fire(target, enemy.V4().String(), enemy.V6().String())
	shot := func(f world.Frame) bool { return !f.Out && world.Contains("fire")(f) }
	for range 10 {
		p := w.PodIn(t, target, "net", labelled("app", "hidden"), world.MAC(mac), world.IP(v4), world.IP(v6))
		time.Sleep(20 * time.Millisecond)
		p.Leave(t)
	}
	if heard() || at.Has(shot) {
		t.Errorf("past the policy of an endpoint that was being attached: it heard: %t, was heard: %t", heard(), at.Has(shot))
	}
	cell.Must(t, w.DeletePolicy("hidden"))
	p := w.PodIn(t, target, "net", labelled("app", "hidden"), world.MAC(mac), world.IP(v4), world.IP(v6))
	at.Await(1, shot)
	world.Soon(t, "without a policy it hears", func() error {
		if !heard() {
			return fmt.Errorf("it hears nothing")
		}
		return nil
	})
	if !at.Has(shot) {
		t.Error("without a policy it is not heard")
	}
	p.Leave(t)
	w.AuditEmpty(t)
}
