package machines_test

import (
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// plugVPC: containers in a machine have the same address in two VPCs at once, each reaches its own VPC alone, and one has NICs of both.
func plugVPC(t *testing.T, p *plugged, _ int) {
	heddled, ctl := cell.Build(t, "heddled"), cell.Build(t, "heddle")
	var agents []*exec.Cmd
	for _, name := range []string{"red", "blue"} {
		cmd, err := p.hv.Command(t.Context(), "sh", "-c", "echo $$ >/run/"+name+".pid; exec "+heddled+" --resolver none --state-dir /run/state-"+name+" --vpc "+name)
		cell.Must(t, err)
		cell.Must(t, cmd.Start())
		agents = append(agents, cmd)
		p.hv.Run(t, ctl, "--vpc", name, "status", "--wait", "--timeout", "1m")
		p.hv.Run(t, ctl, "--vpc", name, "network", "create", "lan", "--mode", "bridge", "--subnet", "10.80.0.0/24", "--subnet", "fd80::/64")
		p.hv.Run(t, "ip", "netns", "add", "in-"+name)
	}
	p.hv.Run(t, ctl, "--vpc", "blue", "network", "create", "db", "--mode", "bridge", "--subnet", "10.81.0.0/24")
	p.hv.Run(t, ctl, "--vpc", "red", "attach", "lan", "--netns", "/run/netns/in-red", "--ip", "10.80.0.200")
	p.hv.Run(t, ctl, "--vpc", "blue", "attach", "lan", "--netns", "/run/netns/in-blue", "--ip", "10.80.0.201")
	p.stop()
	before := p.hv.Run(t, "cat", "/run/nics.yaml")
	write := func(text string) { p.hv.Run(t, "sh", "-c", "cat >/run/nics.yaml <<'E'\n"+text+"\nE\n") }
	write("vpcs: {red: {}, blue: {}}\n" + strings.Replace(before, "networks: [lan, other]", "networks: [lan, other, red/lan, blue/lan, blue/db]", 1))
	p.serve()

	world.Soon(t, "the machine learns of its networks", func() error {
		for name, on := range map[string]string{"red": "red/lan", "blue": "blue/lan", "db": "blue/db"} {
			if out, err := p.vm.TryHeddle(t, "network", "create", name, "--mode", "direct", "--opt", "plug="+on); err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
		}
		return nil
	})
	five := netip.MustParseAddr("10.80.0.5")
	for _, name := range []string{"red", "blue"} {
		if e := p.attach(t, "c-"+name, name, five); e.Addrs[0].Addr() != five {
			t.Errorf("c-%s has %v", name, e.Addrs)
		}
	}
	for name, to := range map[string][2]string{"c-red": {"10.80.0.200", "10.80.0.201"}, "c-blue": {"10.80.0.201", "10.80.0.200"}} {
		cell.Must(t, p.ping(name, to[0]))
		if p.ping(name, to[1]) == nil {
			t.Errorf("%s reaches %s of the other VPC", name, to[1])
		}
	}
	p.vm.Heddle(t, "detach", "c-blue")
	off := false
	_, err := p.vm.Client.Attach(t.Context(), heddle.AttachRequest{Network: "db", ID: heddle.EndpointID{Container: "c-red", IfName: "eth1"}, Netns: "/run/netns/c-red", DefaultRoute: &off})
	cell.Must(t, err)
	for _, to := range []string{"10.80.0.200", "fd80::1", "10.81.0.1"} {
		cell.Must(t, p.ping("c-red", to))
	}
	p.vm.Heddle(t, "audit")
	p.vm.Heddle(t, "detach", "c-red", "--ifname", "eth1")
	p.vm.Heddle(t, "detach", "c-red", "--ifname", "eth0")
	p.vm.Run(t, "sh", "-c", "for n in c-red c-blue; do ip netns delete $n; done")
	for _, n := range []string{"red", "blue", "db"} {
		p.vm.Heddle(t, "network", "delete", n)
	}

	p.stop()
	write(before)
	p.serve()
	for _, name := range []string{"red", "blue"} {
		p.hv.Run(t, ctl, "--vpc", name, "detach", "in-"+name)
		p.hv.Run(t, "ip", "netns", "delete", "in-"+name)
	}
	p.hv.Run(t, ctl, "--vpc", "blue", "network", "delete", "db")
	for _, name := range []string{"red", "blue"} {
		p.hv.Run(t, ctl, "--vpc", name, "network", "delete", "lan")
		p.hv.Run(t, ctl, "--vpc", name, "audit")
	}
	for i, name := range []string{"red", "blue"} {
		p.hv.Run(t, "sh", "-c", "kill $(cat /run/"+name+".pid)")
		agents[i].Wait()
		p.hv.Run(t, ctl, "vpc", "delete", name)
	}
	p.clean(t)
}
