package machines_test

import (
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// plugHandover: a runtime moves the NIC that was plugged in, and does nothing else (linux.netDevices). The NIC is taken out at the detach, and when the
// container ends without a word. test/runtimes has the runtime.
func plugHandover(t *testing.T, p *plugged, own int) {
	ends := []bool{false}
	if soak.On() { // a detach is one of what the end of a container does, too
		ends = append(ends, true)
	}
	for _, detach := range ends {
		p.vm.Run(t, "ip", "netns", "add", "h1")
		r, err := p.vm.Client.Attach(t.Context(), heddle.AttachRequest{Network: "fast", ID: heddle.EndpointID{Container: "h1", IfName: "eth0"},
			Netns: "/run/netns/h1", Handover: true, LinkOnly: true})
		cell.Must(t, err)
		if n := p.devices(t); n != own+1 {
			t.Errorf("%d devices, %d before", n, own)
		}
		p.vm.Run(t, "ip", "link", "set", r.Source, "netns", "h1", "name", "eth0")
		p.vm.Run(t, "ip", "-n", "h1", "link", "set", "eth0", "up")
		world.Soon(t, "the container reaches its gateway", func() error { return p.ping("h1", "10.70.0.1") })
		for _, to := range []string{"fd70::1", "172.31.240.1"} { // the last one by its default route
			cell.Must(t, p.ping("h1", to))
		}
		p.vm.Heddle(t, "audit")
		if detach {
			p.vm.Heddle(t, "detach", "h1")
		}
		p.vm.Run(t, "ip", "netns", "delete", "h1")
		p.left(t, own)
		p.clean(t)
	}
}
