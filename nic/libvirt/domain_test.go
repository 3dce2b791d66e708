package libvirt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/heddle-network/heddle"
)

// TestDomain: NICs of domains without a guest.
func TestDomain(t *testing.T) {
	h := newHost(t)
	h.taps(t, "a", "b", "c", "d", "lost")
	for _, test := range []struct {
		name string
		run  func(*testing.T, *host)
	}{{"plug", plug}, {"refused", plugRefused}, {"queues", plugQueues}, {"at once", plugAtOnce}, {"kept", unplugKept}, {"lost", tapLost}, {"ends", domainEnds}, {"killed", daemonKilled}} {
		t.Run(test.name, func(t *testing.T) { test.run(t, h) })
	}
}

// plug: slots are root ports that take devices, and have none. The TAP stays as it was.
func plug(t *testing.T, h *host) {
	others := "<controller type='pci' index='3' model='pcie-root-port'><target hotplug='off'/></controller>" +
		"<controller type='pci' index='4' model='pcie-root-port'/>" +
		"<rng model='virtio'><backend model='random'>/dev/urandom</backend><address type='pci' bus='4' slot='0'/></rng>"
	d := h.domain(t, "plug", 2, others, native)
	defer h.Destroy("plug")
	slots(t, d, 3, 2)
	plugged(t, d)
	before := h.ip(t, "-o link show dev a")
	must(t, d.Plug(limit(t), "b", mac(2), 0, 1, false, nil))
	must(t, d.Plug(limit(t), "a", mac(1), 1300, 1, false, nil))
	plugged(t, d, "a", "b")
	slots(t, d, 3, 0)
	refused(t, d.Plug(limit(t), "c", mac(3), 1400, 1, false, nil), heddle.NoSlot)
	text := h.xml(t, "plug", 0)
	for _, want := range []string{"<mac address='0a:00:00:00:00:01'/>", "<target dev='a' managed='no'/>", "<mtu size='1300'/>", "<rom enabled='no'/>",
		"<alias name='ua-heddle-a'/>"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in the XML:\n%s", want, text)
		}
	}
	must(t, d.Unplug(limit(t), "a"))
	plugged(t, d, "b")
	slots(t, d, 3, 1)
	if after := h.ip(t, "-o link show dev a"); words(after) != words(before) {
		t.Errorf("the TAP was\n%sand is\n%s", before, after)
	}
	must(t, d.Unplug(limit(t), "a")) // what is not there is gone
	for range 5 {                    // id and slot can be used again at once
		must(t, d.Plug(limit(t), "a", mac(1), 1400, 1, false, nil))
		must(t, d.Unplug(limit(t), "a"))
	}
}

// words is a line of ip(8) without what depends on whether the TAP was opened.
func words(line string) string {
	before, after, _ := strings.Cut(line, " qdisc ")
	_, after, _ = strings.Cut(after, " mode ")
	flags := strings.NewReplacer("NO-CARRIER,", "", ",LOWER_UP", "")
	return flags.Replace(before) + after
}

// plugRefused: what cannot be plugged changes nothing.
func plugRefused(t *testing.T, h *host) {
	d, other := h.domain(t, "one", 2, "", native), h.domain(t, "two", 2, "", native)
	defer h.Destroy("one")
	defer h.Destroy("two")
	must(t, d.Plug(limit(t), "a", mac(1), 1400, 1, false, nil))
	refused(t, d.Plug(limit(t), "a", mac(1), 1400, 1, false, nil), heddle.MachineRefused)
	refused(t, other.Plug(limit(t), "a", mac(1), 1400, 1, false, nil), heddle.MachineRefused) // its TAP is open
	err := other.Plug(limit(t), "none", mac(2), 1400, 1, false, nil)
	if refused(t, err, heddle.MachineRefused); !strings.Contains(heddle.RemedyOf(err), "network namespace") {
		t.Errorf("without a TAP: %v", err)
	}
	refused(t, other.Plug(limit(t), "a.b", mac(2), 1400, 1, false, nil), heddle.BadArgument)
	refused(t, other.Plug(limit(t), "b", "01:00:00:00:00:01", 1400, 1, false, nil), heddle.BadMAC)
	refused(t, other.Unplug(limit(t), ""), heddle.BadArgument)
	plugged(t, other)
	slots(t, other, 2, 2)
	plugged(t, d, "a")
	must(t, d.Unplug(limit(t), "a")) // the NIC moves
	must(t, other.Plug(limit(t), "a", mac(1), 1400, 1, false, nil))
	must(t, other.Unplug(limit(t), "a"))
	none := h.domain(t, "none", 0, "", native)
	defer h.Destroy("none")
	slots(t, none, 0, 0)
	refused(t, none.Plug(limit(t), "a", mac(1), 1400, 1, false, nil), heddle.NoSlot)
	refused(t, NewDomain(h.Socket(), "unknown").Plug(limit(t), "a", mac(1), 1400, 1, false, nil), heddle.MachineAway)
}

// plugQueues: a TAP for several pairs of queues is opened for two at least.
func plugQueues(t *testing.T, h *host) {
	h.ip(t, "tuntap add dev several mode tap vnet_hdr multi_queue")
	d := h.domain(t, "queues", 2, "", native)
	defer h.Destroy("queues")
	if n, err := d.Queues(limit(t)); err != nil || n != 1 {
		t.Errorf("a NIC should have %d pairs of queues, %v", n, err)
	}
	refused(t, d.Plug(limit(t), "several", mac(9), 1400, 4, true, func(int) ([]*os.File, error) {
		return nil, heddle.Errorf(heddle.KernelRefused, "open TAP device", "several", "it is open", "")
	}), heddle.KernelRefused)
	plugged(t, d)
	for _, queues := range []int{1, 4} { // the TAP is as before
		must(t, d.Plug(limit(t), "several", mac(9), 1400, queues, true, func(int) ([]*os.File, error) { return nil, nil }))
		if text := h.xml(t, "queues", 0); !strings.Contains(text, "<driver queues='2'/>") {
			t.Errorf("there are no two pairs of queues in the XML:\n%s", text)
		}
		must(t, d.Unplug(limit(t), "several"))
	}
}

// plugAtOnce: each slot is taken once, also if many ask at the same time, and those that get none are told so.
func plugAtOnce(t *testing.T, h *host) {
	d := h.domain(t, "many", 3, "", native)
	defer h.Destroy("many")
	var group sync.WaitGroup
	errs := make([]error, 4)
	for i, id := range []string{"a", "b", "c", "d"} {
		group.Go(func() { errs[i] = d.Plug(limit(t), id, mac(i), 1400, 1, false, nil) })
	}
	group.Wait()
	without := 0
	for _, err := range errs {
		if err != nil {
			refused(t, err, heddle.NoSlot)
			without++
		}
	}
	if without != 1 {
		t.Errorf("%d NICs got no slot: %v", without, errs)
	}
	slots(t, d, 3, 0)
	for _, id := range []string{"a", "b", "c", "d"} { // and it is let go of once
		for range 4 {
			group.Go(func() {
				if err := d.Unplug(limit(t), id); err != nil {
					t.Errorf("unplug %s: %v", id, err)
				}
			})
		}
	}
	group.Wait()
	slots(t, d, 3, 3)
}

// unplugKept: without a guest nobody lets go of a device.
func unplugKept(t *testing.T, h *host) {
	d := h.domain(t, "kept", 1, "", "")
	defer h.Destroy("kept")
	must(t, d.Plug(limit(t), "a", mac(1), 1400, 1, false, nil))
	for range 2 { // the second time, QEMU says that it has asked already
		err := d.Unplug(within(t, 2*time.Second), "a")
		if refused(t, err, heddle.MachineAway); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v is not of the context's end", err)
		}
	}
	plugged(t, d, "a")
	slots(t, d, 1, 0)
}

// tapLost: a NIC whose TAP has gone is listed, and can be taken out.
func tapLost(t *testing.T, h *host) {
	d := h.domain(t, "lost", 1, "", native)
	defer h.Destroy("lost")
	must(t, d.Plug(limit(t), "lost", mac(1), 1400, 1, false, nil))
	h.ip(t, "link delete dev lost")
	plugged(t, d, "lost")
	must(t, d.Unplug(limit(t), "lost"))
	plugged(t, d)
}

// domainEnds: a NIC ends with its domain, and its TAP does not.
func domainEnds(t *testing.T, h *host) {
	d := h.domain(t, "ends", 1, "", native)
	must(t, d.Plug(limit(t), "a", mac(1), 1400, 1, false, nil))
	h.Destroy("ends")
	for what, err := range map[string]error{"plug": d.Plug(limit(t), "a", mac(1), 1400, 1, false, nil), "unplug": d.Unplug(limit(t), "a")} {
		if refused(t, err, heddle.MachineAway); !strings.Contains(fmt.Sprint(err), "no domain ends") {
			t.Errorf("%s: %v", what, err)
		}
	}
	h.ip(t, "link show dev a")
	again := h.domain(t, "ends", 1, "", native)
	defer h.Destroy("ends")
	plugged(t, again)
	must(t, d.Plug(limit(t), "a", mac(1), 1400, 1, false, nil))
	if text := h.xml(t, "ends", golibvirt.DomainXMLInactive); !strings.Contains(text, "<name>ends") {
		t.Error(text)
	}
	// one that is defined and does not run
	h.Define(fmt.Sprintf(domainXML, "still", h.emulator, ports(1), "", ""))
	defer h.Undefine("still")
	refused(t, NewDomain(h.Socket(), "still").Plug(limit(t), "b", mac(2), 1400, 1, false, nil), heddle.MachineAway)
	_, _, err := NewDomain(h.Socket(), "still").Slots(limit(t))
	refused(t, err, heddle.MachineAway)
}

// daemonKilled: the domain and its NIC live on without libvirtd. Of a libvirtd that is away nobody knows whether the domain runs.
func daemonKilled(t *testing.T, h *host) {
	d := h.domain(t, "killed", 2, "", native)
	defer h.Destroy("killed")
	must(t, d.Plug(limit(t), "a", mac(1), 1400, 1, false, nil))
	h.Kill()
	for what, err := range map[string]error{"plug": d.Plug(limit(t), "b", mac(2), 1400, 1, false, nil), "unplug": d.Unplug(limit(t), "a")} {
		if refused(t, err, heddle.NotPlugged); heddle.MachineAway.In(err) != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	h.Restart()
	plugged(t, d, "a")
	must(t, d.Plug(limit(t), "b", mac(2), 1400, 1, false, nil))
	must(t, d.Unplug(limit(t), "a"))
	plugged(t, d, "b")
}

// xml is the domain's.
func (h *host) xml(t *testing.T, name string, flags golibvirt.DomainXMLFlags) (text string) {
	t.Helper()
	must(t, h.Do(func(l *golibvirt.Libvirt) error {
		domain, err := l.DomainLookupByName(name)
		if err == nil {
			text, err = l.DomainGetXMLDesc(domain, flags)
		}
		return err
	}))
	return text
}
