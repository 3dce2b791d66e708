package machines_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/libvirtd"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// plugLibvirt: the same in a machine that is a domain of libvirt's. plugMoves moves NICs between it and the other one.
func plugLibvirt(t *testing.T, p *plugged, _ int) {
	if p.virt == nil {
		t.Skip(libvirtd.Missing())
	}
	swap := func() { p.vm, p.other = p.other, p.vm }
	swap()
	defer swap()
	own := p.devices(t)
	e := p.attach(t, "l1", "fast")
	for _, to := range []string{"10.70.0.1", "fd70::1", "10.70.0.200", "172.31.240.1"} {
		cell.Must(t, p.ping("l1", to))
	}
	if e.MTU != 1500 || p.devices(t) != own+1 {
		t.Errorf("the endpoint is %+v; %d devices, %d before", e, p.devices(t), own)
	}
	if status := p.vm.Heddle(t, "status"); !strings.Contains(status, "machine vm2") {
		t.Errorf("the status does not tell of the NICs:\n%s", status)
	}
	for _, dev := range []string{p.ports(t)[0].Port, p.ports(t)[0].Endpoint.ShaperName()} { // libvirtd has put noqueue on the first one
		world.Soon(t, dev+" is limited as the file says", func() error {
			if out := p.hv.Run(t, "tc", "qdisc", "show", "dev", dev, "root"); !strings.Contains(out, "tbf 6864: root refcnt 2 rate 1Gbit") {
				return errors.New(out)
			}
			return nil
		})
	}
	if e.Limits.In.Rate != 1e9 || e.Limits.Out.Rate != 1e9 {
		t.Errorf("the endpoint's limits are %s", e.Limits)
	}
	p.hv.Heddle(t, "audit") // libvirtd has left the TAP as it was
	p.vm.Heddle(t, "audit")
	p.virt.Kill()
	cell.Must(t, p.ping("l1", "10.70.0.200"))
	out, err := p.vm.TryHeddle(t, "attach", "fast", "--netns", "/run/netns/l1", "--id", "l2", "--ifname", "eth1")
	if err == nil || !strings.Contains(out, "libvirtd") {
		t.Errorf("without libvirtd: %v, %s", err, out)
	}
	p.virt.Restart()
	p.attach(t, "l3", "fast")
	cell.Must(t, p.ping("l3", "10.70.0.200"))
	p.vm.Heddle(t, "detach", "l3")
	p.vm.Heddle(t, "detach", "l1")
	for what, victim := range map[string]func(){
		"the service": func() { p.stop(); p.serve() },
		"libvirtd":    func() { p.virt.Kill(); p.virt.Restart() },
	} {
		p.killedMidway(t, what, victim)
	}
	p.left(t, own)
	p.vm.Run(t, "sh", "-c", "for n in l1 l3; do ip netns delete $n; done")
	p.clean(t)
	if soak.On() {
		plugCycles(t, p, own)
	}
}

// killedMidway: something is killed in the middle of a plug and of an unplug. Both happen once it is back.
func (p *plugged) killedMidway(t *testing.T, what string, victim func()) {
	t.Helper()
	p.vm.Run(t, "ip", "netns", "add", "l4")
	for _, words := range []string{"attach fast --netns /run/netns/l4 --id l4", "detach l4"} {
		done := make(chan error, 1)
		go func() {
			_, err := p.vm.TryHeddle(t, strings.Fields(words)...)
			done <- err
		}()
		time.Sleep(150 * time.Millisecond)
		victim()
		t.Logf("%s, and %s is killed: %v", words, what, <-done)
		world.Soon(t, words, func() error {
			_, err := p.vm.TryHeddle(t, strings.Fields(words)...)
			return err
		})
		if strings.HasPrefix(words, "attach") {
			cell.Must(t, p.ping("l4", "10.70.0.200"))
		}
	}
	p.vm.Run(t, "ip", "netns", "delete", "l4")
}
