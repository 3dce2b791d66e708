package attack_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/world"
)

// loopbackAttacks use the moment in which another program has flushed the firewall.
func loopbackAttacks() []ownAttack {
	return []ownAttack{{class: "loopback", name: "loopback while the firewall is flushed, and nothing is published there", modes: "bridge routed overlay",
		mount: func(t *testing.T, mode string, open bool) bool {
			w := world.New(t)
			n := w.Network(t, "net", mode)
			at := "192.0.2.1@8080:80/tcp"
			if open {
				at = "127.0.0.1@8080:80/tcp"
			}
			pod := w.Pod(t, "attacker", "net", world.Publish(at))
			left := w.Pod(t, "left", "net", world.Publish("127.0.0.1@8081:80/tcp"))
			left.Leave(t)
			service := bind(t, w.Host, netip.AddrPortFrom(loopback4, loopPort))
			unwatched(t, w)
			w.Host.Sh(t, "nft delete table inet heddle; nft delete table bridge heddle")
			hop := pod.Endpoint.ID.PortMAC()
			if mode == "bridge" {
				hop = n.GatewayMAC()
			}
			pod.Send(t, "eth0", datagram(ether(pod.Endpoint.MAC, hop, ip4), pod.V4(), loopback4))
			e := eye{wanted: open}
			service.SetReadDeadline(time.Now().Add(e.limit()))
			_, _, err := service.ReadFrom(make([]byte, 2048))
			return err == nil
		}}}
}
