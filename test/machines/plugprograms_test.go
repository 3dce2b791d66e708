package machines_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// programs attaches a namespace of the machine, as an interface of it, to a network whose NICs programs drive.
func (p *plugged) programs(t *testing.T, name, ifname, network string) heddle.Endpoint {
	t.Helper()
	r, err := p.vm.Client.Attach(t.Context(), heddle.AttachRequest{Network: network, ID: heddle.EndpointID{Container: name, IfName: ifname}, Netns: "/run/netns/" + name})
	cell.Must(t, err)
	e := r.Endpoint
	if e.NIC == nil || e.NIC.Device == nil || e.NIC.Device.Address == "" || e.DefaultRoute || len(e.Addrs) == 0 {
		t.Fatalf("the answer is %+v, NIC %+v", r, e.NIC)
	}
	return e
}

// driverOf is the driver of an endpoint's device.
func (p *plugged) driverOf(e heddle.Endpoint) string {
	out, _ := p.vm.TryRun("sh", "-c", "basename $(readlink /sys/bus/pci/devices/"+e.NIC.Device.Address+"/driver)")
	return strings.TrimSpace(out)
}

// plugPrograms: a NIC is bound to vfio-pci for a program of its container. A program that has it open keeps it. A machine without an IOMMU has no such NICs.
func plugPrograms(t *testing.T, p *plugged, own int) {
	refused := func(cause string, args ...string) {
		t.Helper()
		if out, err := p.vm.TryHeddle(t, args...); err == nil || !strings.Contains(out, cause) {
			t.Errorf("%s: %v, %s", strings.Join(args, " "), err, out)
		}
	}
	create := []string{"network", "create", "raw", "--mode", "direct", "--opt", "plug=lan", "--opt", "driver=vfio-pci"}
	refused("modprobe vfio-pci", create...)
	if p.other != nil {
		if out, err := p.other.TryHeddle(t, create...); err == nil || !strings.Contains(out, "no IOMMU is in use") {
			t.Errorf("without an IOMMU: %v, %s", err, out)
		}
	}
	p.vm.Run(t, "modprobe", "vfio-pci")
	p.vm.Heddle(t, create...)
	p.vm.Run(t, "ip", "netns", "add", "d1")
	e := p.programs(t, "d1", "eth0", "raw")
	if len(e.NIC.Plugged.Gateways) != 2 {
		t.Errorf("the gateways are %v", e.NIC.Plugged.Gateways)
	}
	if got := p.driverOf(e); got != heddle.VFIODriver || p.devices(t) != own {
		t.Errorf("device %s has driver %s, and the kernel has %d NICs, %d before", e.NIC.Device.Address, got, p.devices(t), own)
	}
	refused("a program drives its NIC", "endpoint", "move", "d1", "--to", "vm2")
	if text := p.vm.Heddle(t, "endpoint", "show", "d1"); !strings.Contains(text, e.NIC.Device.Node()) {
		t.Errorf("the endpoint is shown as\n%s", text)
	}
	p.vm.Heddle(t, "audit")
	if soak.On() {
		plugProgramsGivenBack(t, p, e, own)
	}

	p.vm.Run(t, "sh", "-c", "exec 9<>"+e.NIC.Device.Node()+"; exec sleep 1000 >/dev/null 2>&1 & echo $! >/run/holder")
	refused("a program has "+e.NIC.Device.Node()+" open", "detach", "d1")
	refused("a program has "+e.NIC.Device.Node()+" open", "audit")
	if soak.On() {
		p.vm.KillAgent(t)
		p.vm.StartAgent(t)
	}
	if got := p.driverOf(e); got != heddle.VFIODriver {
		t.Errorf("a device that a program has open has got driver %q", got)
	}
	p.vm.Run(t, "sh", "-c", "kill $(cat /run/holder)")
	world.Within(t, 3*world.Patience, "the NIC is taken out", func() error {
		if n := len(p.nics(t)); n > 0 {
			return fmt.Errorf("%d NICs", n)
		}
		return nil
	})
	p.programs(t, "d1", "eth0", "raw")
	p.vm.Run(t, "ip", "netns", "delete", "d1") // the container ends without a word
	p.clean(t)
	p.vm.Heddle(t, "network", "delete", "raw")
}

// plugProgramsGivenBack: somebody gives a device to the kernel's driver while the agent is away, which binds it again.
func plugProgramsGivenBack(t *testing.T, p *plugged, e heddle.Endpoint, own int) {
	p.vm.KillAgent(t)
	p.vm.Run(t, "sh", "-c", fmt.Sprintf("cd /sys/bus/pci/devices/%s; echo >driver_override; echo %[1]s >driver/unbind; echo %[1]s >/sys/bus/pci/drivers_probe", e.NIC.Device.Address))
	if p.devices(t) != own+1 {
		t.Errorf("the kernel does not have the NIC that was given back to it")
	}
	p.vm.StartAgent(t)
	world.Within(t, 3*world.Patience, "the device is bound again", func() error {
		if got := p.driverOf(e); got != heddle.VFIODriver {
			return errors.New("its driver is " + got)
		}
		return nil
	})
	p.vm.Heddle(t, "audit")
}

// plugProgramsKilled: an agent that is killed at any step of an attach, or of the detach, leaves an endpoint that is whole, or nothing.
func plugProgramsKilled(t *testing.T, p *plugged, own int) {
	p.vm.Heddle(t, "network", "create", "raw", "--mode", "direct", "--opt", "plug=lan", "--opt", "driver=vfio-pci")
	p.vm.Run(t, "sh", "-c", "cat /proc/$(pidof heddled)/cmdline >/run/agent; ip netns add d1")
	attach, detach := []string{"attach", "raw", "--netns", "/run/netns/d1", "--id", "d1"}, []string{"detach", "d1"}
	for step, attaching := 1, true; ; step++ {
		p.vm.KillAgent(t)
		p.vm.Run(t, "sh", "-c", fmt.Sprintf("HEDDLE_CRASH_AT=%d HEDDLE_CRASH_AFTER=/run/armed setsid xargs -0 -a /run/agent env >/run/agent.log 2>&1 &", step))
		p.vm.Heddle(t, "status", "--wait")
		p.vm.Run(t, "touch", "/run/armed")
		command := detach
		if attaching {
			command = attach
		}
		_, err := p.vm.TryHeddle(t, command...)
		p.vm.Run(t, "sh", "-c", "rm /run/armed; kill -9 $(pidof heddled) || true")
		p.vm.StartAgent(t)
		if err != nil {
			t.Logf("%s, killed at step %d", command[0], step)
		}
		there, port := true, 1
		if _, gone := p.vm.Client.Endpoint(t.Context(), heddle.EndpointID{Container: "d1", IfName: "eth0"}); heddle.NoEndpoint.In(gone) != nil {
			there, port = false, 0
		}
		world.Within(t, 3*world.Patience, "there is a NIC for the endpoint, or none", func() error {
			if n := len(p.nics(t)); n != port || p.devices(t) != own {
				return fmt.Errorf("%d NICs, of which the kernel has %d", n, p.devices(t)-own)
			}
			return nil
		})
		p.vm.Heddle(t, "audit")
		switch {
		case err == nil && there != attaching:
			t.Fatalf("%s succeeded: the endpoint is there: %t", command[0], there)
		case err == nil && attaching:
			attaching, step = false, 0 // all steps of an attach were seen
		case err == nil:
			p.vm.Run(t, "ip", "netns", "delete", "d1")
			p.clean(t)
			p.vm.Heddle(t, "network", "delete", "raw")
			return
		case attaching && there:
			p.vm.Heddle(t, detach...)
		case !attaching && !there:
			p.vm.Heddle(t, attach...)
		}
	}
}
