package machines_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// plugQueues: a NIC of a machine with two processors, for which the file permits that, has two pairs of queues in its container, each on a processor of its own, and both receive. Without that setting
// it has one pair.
func plugQueues(t *testing.T, p *plugged, _ int) {
	p.stop()
	p.hv.Run(t, "sed", "-i", "s/nics: 3/nics: 3, queues: 2/", "/run/nics.yaml")
	p.serve()
	e := p.attach(t, "q1", "fast")
	shown, err := p.vm.Client.Endpoint(t.Context(), e.ID)
	cell.Must(t, err)
	at := map[string]heddle.Queue{}
	for _, q := range shown.Queues {
		at[q.Name] = q
	}
	for _, kind := range []string{"rx", "tx"} {
		a, b := at[kind+"-0"], at[kind+"-1"]
		if len(at) != 4 || a.CPUs == b.CPUs || a.CPUs == "" || b.CPUs == "" || a.Interrupt == b.Interrupt {
			t.Errorf("the queues are not spread: %+v", shown.Queues)
		}
	}
	if at["tx-0"].Steering != "0" || at["tx-1"].Steering != "1" {
		t.Errorf("the queues send for the same processors: %+v", shown.Queues)
	}
	if text := p.vm.Heddle(t, "endpoint", "show", "q1"); !strings.Contains(text, "tx-1 on CPU "+at["tx-1"].CPUs+" for CPU 1") {
		t.Errorf("the queues are told as\n%s", text)
	}
	if got := p.vm.Run(t, "ip", "netns", "exec", "q1", "cat", "/sys/class/net/eth0/queues/tx-1/xps_cpus"); got != "2" {
		t.Errorf("the container reads %q", got)
	}
	cell.Must(t, p.ping("q1", "10.70.0.200"))
	world.Soon(t, "both queues receive", func() error {
		p.hv.Run(t, "ip", "netns", "exec", "beside", "bash", "-c", fmt.Sprintf("for i in {1..40}; do echo x >/dev/udp/%s/9; done", e.Addrs[0].Addr()))
		for _, q := range []string{"rx-0", "rx-1"} {
			if p.vm.Run(t, "awk", fmt.Sprintf("$1 == \"%d:\" { print $2 + $3 }", at[q].Interrupt), "/proc/interrupts") == "0" {
				return fmt.Errorf("%s has had no interrupt", q)
			}
		}
		return nil
	})
	p.vm.Heddle(t, "detach", "q1")

	p.stop()
	p.hv.Run(t, "sed", "-i", "s/, queues: 2//", "/run/nics.yaml")
	p.serve()
	one := p.attach(t, "q2", "fast")
	shown, err = p.vm.Client.Endpoint(t.Context(), one.ID)
	cell.Must(t, err)
	if len(shown.Queues) != 2 {
		t.Errorf("with one pair: %+v", shown.Queues)
	}
	cell.Must(t, p.ping("q2", "10.70.0.200"))
	p.vm.Heddle(t, "detach", "q2")
	p.vm.Run(t, "sh", "-c", "ip netns delete q1; ip netns delete q2")
	p.clean(t)
}
