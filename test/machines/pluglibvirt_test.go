package machines_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/libvirtd"
	"github.com/heddle-network/heddle/test/world"
)

// plugLibvirt: the same in a machine that is a domain of libvirt's. plugMoves moves NICs between it and the other one.
func plugLibvirt(t *testing.T, p *plugged) {
	if p.virt == nil {
		t.Skip(libvirtd.Missing())
	}
	swap := func() { p.vm, p.other = p.other, p.vm }
	swap()
	defer swap()
	own := p.devices(t)
	p.vm.Heddle(t, "network", "create", "virt", "--mode", "direct", "--opt", "plug=lan")
	e := p.attach(t, "l1", "virt")
	for _, to := range []string{"10.70.0.1", "fd70::1", "10.70.0.200", "172.31.240.1"} {
		cell.Must(t, p.ping("l1", to))
	}
	if e.MTU != 1500 || p.devices(t) != own+1 {
		t.Errorf("the endpoint is %+v; %d devices, %d before", e, p.devices(t), own)
	}
	if status := p.vm.Heddle(t, "status"); !strings.Contains(status, "machine vm2") {
		t.Errorf("the status does not tell of the NICs:\n%s", status)
	}
	p.hv.Heddle(t, "audit") // libvirtd has left the TAP as it was
	p.vm.Heddle(t, "audit")
	p.virt.Kill()
	cell.Must(t, p.ping("l1", "10.70.0.200"))
	out, err := p.vm.TryHeddle(t, "attach", "virt", "--netns", "/run/netns/l1", "--id", "l2", "--ifname", "eth1")
	if err == nil || !strings.Contains(out, "libvirtd") {
		t.Errorf("without libvirtd: %v, %s", err, out)
	}
	p.virt.Restart()
	p.attach(t, "l3", "virt")
	cell.Must(t, p.ping("l3", "10.70.0.200"))
	p.vm.Heddle(t, "detach", "l3")
	p.vm.Heddle(t, "detach", "l1")
	p.serviceKilled(t)
	world.Soon(t, "the NICs are gone", func() error {
		if n := p.devices(t); n != own {
			return fmt.Errorf("%d devices, %d before", n, own)
		}
		return nil
	})
	p.vm.Run(t, "sh", "-c", "for n in l1 l3 l4; do ip netns delete $n; done")
	p.vm.Heddle(t, "network", "delete", "virt")
	p.clean(t)
}

// serviceKilled: the service is killed in the middle of a plug and of an unplug. Both happen once it is back.
func (p *plugged) serviceKilled(t *testing.T) {
	t.Helper()
	p.vm.Run(t, "ip", "netns", "add", "l4")
	for _, words := range []string{"attach virt --netns /run/netns/l4 --id l4", "detach l4"} {
		for _, after := range []time.Duration{60, 250} { // ms
			done := make(chan error, 1)
			go func() {
				_, err := p.vm.TryHeddle(t, strings.Fields(words)...)
				done <- err
			}()
			time.Sleep(after * time.Millisecond)
			p.stop()
			p.serve()
			t.Logf("%s, with the service killed after %d ms: %v", words, after, <-done)
		}
		world.Soon(t, words, func() error {
			_, err := p.vm.TryHeddle(t, strings.Fields(words)...)
			return err
		})
		if strings.HasPrefix(words, "attach") {
			cell.Must(t, p.ping("l4", "10.70.0.200"))
		}
	}
}
