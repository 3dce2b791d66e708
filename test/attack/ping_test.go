package attack_test

import (
	"net"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle/ping"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// pingAttacks are about echoes that the agent sends from a container.
func pingAttacks() []ownAttack {
	return []ownAttack{{class: "echo", name: "answers in a neighbour's name, routes and a flood of replies", modes: "bridge routed", mount: answersItself}}
}

// answersItself reports whether a container changes which path the agent names to a neighbour, or holds the ping up: it has the neighbour's
// address itself, so that it answers in its name, another route there, and a flood of forged replies. Without a guard it is the operator who
// changes what the agent knows.
func answersItself(t *testing.T, mode string, open bool) bool {
	w := world.New(t)
	w.Network(t, "net", mode)
	attacker, victim := w.Pod(t, "attacker", "net"), w.Pod(t, "victim", "net")
	q := ping.Request{ID: attacker.Endpoint.ID, To: victim.V4().String(), Count: 3, IntervalSeconds: 0.01, WaitSeconds: 1, Size: 56}
	before, all := echoes(t, w, q)
	if before.Endpoint != victim.Endpoint.ID || ping.Summarize(all).Received != q.Count {
		t.Fatalf("the neighbour is not reached: %+v, %+v", before, all)
	}
	if open {
		found, err := w.Detach(t.Context(), victim.Endpoint.ID)
		if cell.Must(t, err); !found {
			t.Fatal("the neighbour was not there")
		}
		q.Count, q.WaitSeconds = 1, 0.01
		after, _ := echoes(t, w, q)
		return after != before
	}
	attacker.Sh(t, `sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
		ip link add x type veth peer name y; ip link set x up; ip link set y up
		ip address add %s/32 dev lo`, victim.V4())
	from := victim.V4().Next()
	reply := build(&layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: hardwareAddr(t, attacker, "x"), EthernetType: ip4}, internet(from, attacker.V4(), layers.IPProtocolICMPv4),
		&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoReply, 0)}, gopacket.Payload(mark))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for flood := [][]byte{reply, reply, reply, reply, reply, reply, reply, reply}; ; {
			select {
			case <-stop:
				return
			default:
				attacker.TrySend("y", flood...)
			}
		}
	}()
	began := time.Now()
	after, all := echoes(t, w, q)
	attacker.Sh(t, "ip address delete %s/32 dev lo; ip route replace unreachable %s/32", victim.V4(), victim.V4())
	routed, refused := echoes(t, w, q)
	close(stop)
	<-stopped
	if ping.Summarize(all).Received == 0 || ping.Summarize(refused).Received > 0 {
		t.Errorf("the attacker does not answer itself, or has no other route: %+v, %+v", all, refused)
	}
	return after != before || routed != before || time.Since(began) > world.Patience
}

// echoes are the path that the agent names, and what became of each echo.
func echoes(t *testing.T, w *world.World, q ping.Request) (p ping.Path, all []ping.Echo) {
	t.Helper()
	cell.Must(t, w.Ping(t.Context(), q, func(l ping.Line) error {
		if l.Path != nil {
			p = *l.Path
		}
		if l.Echo != nil {
			all = append(all, *l.Echo)
		}
		return nil
	}))
	return p, all
}

// hardwareAddr is the MAC address of a link in a container.
func hardwareAddr(t *testing.T, p *world.Pod, link string) (mac net.HardwareAddr) {
	t.Helper()
	cell.Must(t, p.Do(func() error {
		l, err := net.InterfaceByName(link)
		if err == nil {
			mac = l.HardwareAddr
		}
		return err
	}))
	return mac
}
