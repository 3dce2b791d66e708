package agent

import (
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/nic"
)

// boundDevice is a kernel with one device and one container. Applying a plan binds the device.
type boundDevice struct {
	PlanApplier
	Namespaces
	kernel.Pod
	bound   bool
	applied int
}

func (b *boundDevice) OpenPod(string) (kernel.Pod, error)      { return b, nil }
func (b *boundDevice) Inode() uint64                           { return 1 }
func (b *boundDevice) Is(uint64, uint64) bool                  { return true }
func (b *boundDevice) Close()                                  {}
func (b *boundDevice) Find(alias string) (*kernel.Seen, error) { return nil, nil } // it has no interface

func (b *boundDevice) Diff(p heddle.Plan, _ kernel.Pod) ([]kernel.Difference, error) {
	if b.bound || len(p.Pod.NICs) != 1 {
		return nil, nil
	}
	return []kernel.Difference{{Kind: "differs"}}, nil
}

func (b *boundDevice) Apply(heddle.Plan, kernel.Pod) ([]string, error) {
	b.applied, b.bound = b.applied+1, true
	return nil, nil
}

// TestPutBackDevice: a device that is bound for a program is left alone whatever else has its MAC address, and one that is not is bound again.
func TestPutBackDevice(t *testing.T) {
	p, _ := newPlugs(t)
	k, log := &boundDevice{bound: true}, slog.New(slog.DiscardHandler)
	p.holds.namespaces, p.networks = k, newRegister(newWantedObjects(), reporter{ready: &atomic.Bool{}}, nil)
	n := heddle.NIC{MAC: plugMAC, Plugged: &heddle.PluggedNIC{Token: "e-1"}, Device: &heddle.NICDevice{}}
	r := record{Endpoint: heddle.Endpoint{ID: containerID("a"), MAC: plugMAC, NIC: &n}, Plan: heddle.Plan{Pod: heddle.State{NICs: []heddle.NIC{n}}}}
	p.records.add(r, "")
	a := &Agent{kernel: Machine{PlanApplier: k}, records: p.records, networks: p.networks, plugs: p, log: log, lanDevices: &lanDevices{networks: p.networks, log: log},
		containers: &containers{namespaces: k, log: log, records: p.records, holds: p.holds}}
	for step, want := range []int{0, 1, 1} {
		if step == 1 {
			k.bound = false
		}
		if err := a.putBackNIC(t.Context(), r.Endpoint.ID, nic.Card{Token: "e-1", MAC: plugMAC, Plugged: true}); err != nil || k.applied != want {
			t.Errorf("step %d: bound %d times, want %d: %v", step, k.applied, want, err)
		}
	}
}
