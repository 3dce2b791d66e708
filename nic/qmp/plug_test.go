package qmp

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
)

func nic(t *testing.T, id string, number int) NIC {
	return NIC{ID: id, MAC: heddle.MAC(fmt.Sprintf("0a:00:00:00:00:%02x", number)), TAPs: []*os.File{tap(t)}}
}

func plugged(t *testing.T, m *Machine, want ...string) {
	t.Helper()
	if got, err := m.Plugged(limit(t)); err != nil || !slices.Equal(got, want) {
		t.Errorf("plugged %v, %v; want %v", got, err, want)
	}
}

// Slots are root ports of any id. Numbers count: port2 comes before port10.
func TestPlug(t *testing.T) {
	m, _ := machine(t, native, port("id=port10,chassis=1"), port("id=port2,chassis=2"), port("id=port11,chassis=3"), port("chassis=4"),
		port("id=full,chassis=5"), []string{"-device", "virtio-rng-pci,bus=full"}, []string{"-device", "virtio-rng-pci,id=rng"})
	slots(t, m, 4, 3)
	plugged(t, m)
	for i, id := range []string{"b", "a.1", "c"} {
		must(t, m.Plug(limit(t), nic(t, id, i)))
	}
	slots(t, m, 4, 0)
	plugged(t, m, "a.1", "b", "c")
	for id, want := range map[string][3]string{"b": {"0a:00:00:00:00:00", "heddle-b", "port2"}, "a.1": {"0a:00:00:00:00:01", "heddle-a.1", "port10"}} {
		var mac, netdev string
		for property, value := range map[string]*string{"mac": &mac, "netdev": &netdev} {
			must(t, m.call(limit(t), "qom-get", map[string]string{"path": named + "/heddle-" + id, "property": property}, value))
		}
		bus, err := m.busOf(limit(t), named+"/heddle-"+id)
		must(t, err)
		if got := [3]string{mac, netdev, path.Base(bus)}; got != want {
			t.Errorf("NIC %s is %v, want %v", id, got, want)
		}
	}
	refused(t, m.Plug(limit(t), nic(t, "d", 4)), heddle.NoSlot)
	must(t, m.Unplug(limit(t), "a.1"))
	plugged(t, m, "b", "c")
	slots(t, m, 4, 1)
	// What is not there is gone.
	must(t, m.Unplug(limit(t), "a.1"))
	must(t, m.Unplug(limit(t), "never"))
	refused(t, m.Plug(limit(t), nic(t, "b", 5)), heddle.MachineRefused)
	// The id and the slot can be used again at once.
	for range 20 {
		must(t, m.Plug(limit(t), nic(t, "a.1", 6)))
		must(t, m.Unplug(limit(t), "a.1"))
	}
	if len(m.waiting) > 0 || len(m.leaving) > 0 {
		t.Errorf("%d commands and %d devices are waited for", len(m.waiting), len(m.leaving))
	}
}

func TestPlugAtOnce(t *testing.T) {
	var ports [][]string
	for i := range 4 {
		ports = append(ports, port(fmt.Sprintf("id=slot%d,chassis=%d,multifunction=on,addr=0x1e.%d,io-reserve=0", i+1, i+1, i)))
	}
	m, _ := machine(t, append(ports, native)...)
	var group sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		n := nic(t, fmt.Sprint("n", i), i)
		group.Go(func() { errs[i] = m.Plug(limit(t), n) })
	}
	group.Wait()
	in := map[string]bool{}
	for i, err := range errs {
		if err != nil {
			refused(t, err, heddle.NoSlot)
			continue
		}
		bus, err := m.busOf(limit(t), fmt.Sprint(named, "/heddle-n", i))
		must(t, err)
		in[bus] = true
	}
	if len(in) != 4 {
		t.Errorf("the NICs are in %v, want four slots", in)
	}
	slots(t, m, 4, 0)
	for i := range errs {
		group.Go(func() { errs[i] = m.Unplug(limit(t), fmt.Sprint("n", i)) })
	}
	group.Wait()
	for _, err := range errs {
		must(t, err)
	}
	slots(t, m, 4, 4)
}

// A slot that QEMU refuses is passed over. If there is no other, nothing is left.
func TestPlugUndone(t *testing.T) {
	for _, kind := range [][]string{native, nil} {
		m, _ := machine(t, kind, port("id=a,chassis=1,hotplug=off"), port("id=b,chassis=2"))
		// A Plug that was cut off has left a netdev.
		must(t, m.call(limit(t), "netdev_add", map[string]any{"type": "hubport", "id": "heddle-a", "hubid": 0}, nil))
		must(t, m.Plug(limit(t), nic(t, "a", 1)))
		refused(t, m.Plug(limit(t), nic(t, "b", 2)), heddle.NoSlot)
		// Another program's device is in the slot that was free.
		refused(t, m.plug(limit(t), nic(t, "c", 3), []string{"b"}, false), heddle.NoSlot)
		plugged(t, m, "a")
		for _, id := range []string{"heddle-b", "heddle-c"} {
			if err := m.call(limit(t), "netdev_del", map[string]string{"id": id}, nil); !notFound(err) {
				t.Errorf("the netdev %s is left: %v", id, err)
			}
			if m.call(limit(t), "closefd", map[string]string{"fdname": id + "-0"}, nil) == nil {
				t.Errorf("the descriptor %s is left", id)
			}
		}
	}
}

// A Plug whose context ends in the middle leaves nothing, whatever it has made so far.
func TestPlugCutOff(t *testing.T) {
	m, _ := machine(t, native, port("id=a,chassis=1"))
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	n, id := nic(t, "a", 1), prefix+"a"
	steps := []func() error{
		func() error {
			return m.callWith(limit(t), "getfd", map[string]string{"fdname": id + "-0"}, n.TAPs[0], nil)
		},
		func() error {
			return m.call(limit(t), "netdev_add", map[string]string{"type": "tap", "id": id, "fds": id + "-0"}, nil)
		},
		func() error { return m.addDevice(limit(t), n, []string{"a"}, false) },
	}
	for made := range len(steps) + 1 {
		for _, step := range steps[:made] {
			must(t, step())
		}
		m.undo(cut, n, cut.Err())
		plugged(t, m)
		if err := m.call(limit(t), "netdev_del", map[string]string{"id": id}, nil); !notFound(err) {
			t.Errorf("after %d steps the netdev is left: %v", made, err)
		}
		if m.call(limit(t), "closefd", map[string]string{"fdname": id + "-0"}, nil) == nil {
			t.Errorf("after %d steps the descriptor is left", made)
		}
	}
	refused(t, m.Plug(cut, n), heddle.MachineAway)
	slots(t, m, 1, 1)
}

// What is no TAP is refused, and its descriptor is closed.
func TestPlugNoTAP(t *testing.T) {
	m, _ := machine(t, native, port("id=a,chassis=1"))
	file, err := os.Open("/dev/null")
	must(t, err)
	defer file.Close()
	refused(t, m.Plug(limit(t), NIC{ID: "a", MAC: "0a:00:00:00:00:01", TAPs: []*os.File{file}}), heddle.MachineRefused)
	if m.call(limit(t), "closefd", map[string]string{"fdname": "heddle-a-0"}, nil) == nil {
		t.Error("the descriptor is left")
	}
	slots(t, m, 1, 1)
	must(t, m.Plug(limit(t), nic(t, "a", 1)))
}

func TestBadNICs(t *testing.T) {
	m, _ := machine(t)
	refused(t, m.Plug(limit(t), nic(t, "a", 1)), heddle.NoSlot)
	for code, n := range map[heddle.Code]NIC{heddle.BadMAC: {ID: "a", MAC: "01:00:00:00:00:01", TAPs: []*os.File{tap(t)}}, heddle.BadArgument: {ID: "a b", MAC: "0a:00:00:00:00:01", TAPs: []*os.File{tap(t)}}} {
		refused(t, m.Plug(limit(t), n), code)
	}
	refused(t, m.Plug(limit(t), NIC{ID: "a", MAC: "0a:00:00:00:00:01"}), heddle.BadArgument)
	refused(t, m.Unplug(limit(t), ""), heddle.BadArgument)
	closed := nic(t, "a", 1)
	closed.TAPs[0].Close()
	if err := m.callWith(limit(t), "getfd", map[string]string{"fdname": "x"}, closed.TAPs[0], nil); err == nil {
		t.Error("a closed file was sent")
	}
	plugged(t, m) // and the connection goes on
}

// Without a guest nobody lets go of a device.
func TestUnplugKept(t *testing.T) {
	m, _ := machine(t, port("id=slot1,chassis=1"))
	must(t, m.Plug(limit(t), nic(t, "a", 1)))
	for range 2 { // the second time, QEMU says that it has asked already
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		refused(t, m.Unplug(ctx, "a"), heddle.MachineAway)
		cancel()
	}
	plugged(t, m, "a")
	slots(t, m, 1, 0)
}
