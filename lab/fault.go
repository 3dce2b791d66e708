package lab

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/impair"
)

const faultsName = "faults.json"

// Faults are the faults that were made in a lab on purpose.
type Faults struct {
	Cuts []Cut `json:"cuts,omitempty"`
	// Wires by name: HOST for its eth0, or HOST:ethN.
	Wires map[string]*WireFault `json:"wires,omitempty"`
	// Paused says what is stopped in a host: "agent" or "all".
	Paused map[string]string `json:"paused,omitempty"`
	// Clocks say how far the clocks of hosts' agents are ahead.
	Clocks map[string]time.Duration `json:"clocks,omitempty"`
}

// Cut drops the frames from one host to another. An empty name means all hosts.
type Cut struct {
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// WireFault holds the faults of a wire. Out is about frames that its host sends, In about
// frames that it receives.
type WireFault struct {
	Out impair.Impairment `json:"out"`
	In  impair.Impairment `json:"in"`
	// Rate and MTU are the current ones, if they were changed. A hidden MTU is set only at
	// the switch: the host does not see it.
	Rate   impair.Rate `json:"rate,omitempty"`
	MTU    int         `json:"mtu,omitempty"`
	Hidden bool        `json:"hidden,omitempty"`
}

func (f *WireFault) relayed() bool {
	return f.Out != (impair.Impairment{}) || f.In != (impair.Impairment{})
}

// Faults reads the lab's faults.
func (l *Lab) Faults() Faults {
	var f Faults
	b, _ := os.ReadFile(filepath.Join(l.folder, faultsName))
	json.Unmarshal(b, &f)
	if f.Wires == nil {
		f.Wires = map[string]*WireFault{}
	}
	if f.Paused == nil {
		f.Paused = map[string]string{}
	}
	if f.Clocks == nil {
		f.Clocks = map[string]time.Duration{}
	}
	return f
}

// The cause and the remedy of what needs a lab that is up.
const (
	notUp   = "the lab is not up"
	makeLab = "make it with 'heddle lab up'"
)

// change changes the lab's faults and records them. It takes the lab's lock.
func (l *Lab) change(ctx context.Context, what, object string, do func(*Faults) error) error {
	lock, err := takeLock(ctx, l.folder)
	if os.IsNotExist(err) {
		return heddle.Errorf(heddle.NoLab, what, object, notUp, makeLab)
	}
	if err != nil {
		return heddle.Wrap(heddle.LabFailed, "lock folder", l.folder, err, "wait until no other 'heddle lab' works on it")
	}
	defer lock.Close()
	f := l.Faults()
	if err := do(&f); err != nil {
		if _, known := err.(*heddle.Error); known {
			return err
		}
		return heddle.Wrap(heddle.LabFailed, what, object, err, "")
	}
	return l.recordFaults(f)
}

func (l *Lab) recordFaults(f Faults) error {
	if err := writeJSON(filepath.Join(l.folder, faultsName), f); err != nil {
		return heddle.Wrap(heddle.LabFailed, "record faults of", l.Name, err, "")
	}
	return nil
}

// wire returns the entry of a wire, and makes it if there is none.
func (f *Faults) wire(name string) *WireFault {
	if f.Wires[name] == nil {
		f.Wires[name] = &WireFault{}
	}
	return f.Wires[name]
}

// dropEmpty drops the entries of wires without faults.
func (f *Faults) dropEmpty() {
	for name, w := range f.Wires {
		if *w == (WireFault{}) {
			delete(f.Wires, name)
		}
	}
}

// Crashed names the wires whose relay has died. Their hosts are cut off until the fault is
// set again or cleared.
func (l *Lab) Crashed() (all []string) {
	f := l.Faults()
	for _, name := range keys(f.Wires) {
		w, err := l.findWire(name)
		if err == nil && f.Wires[name].relayed() && !w.relayRuns() {
			all = append(all, name)
		}
	}
	return all
}

// Counts returns what the wire's relay has done since it was set.
func (l *Lab) Counts(name string) (out, in impair.Count, err error) {
	w, err := l.findWire(name)
	if err != nil {
		return out, in, err
	}
	r, err := w.callRelay(nil)
	if err != nil {
		return out, in, heddle.Wrap(heddle.LabFailed, "ask relay of", name, err,
			"choose a wire that 'heddle lab fault list' shows with a fault")
	}
	return r.Out, r.In, nil
}

// ClearFaults removes all faults. An agent with a wrong clock is started again with the
// right one.
func (l *Lab) ClearFaults(ctx context.Context) error {
	return l.change(ctx, "clear faults of", l.Name, func(f *Faults) error {
		f.Cuts = nil
		if err := l.applyCuts(ctx, f); err != nil {
			return err
		}
		for host := range f.Paused {
			h, err := l.Host(host)
			if err == nil {
				err = h.resume(ctx)
			}
			if err != nil {
				return err
			}
		}
		f.Paused = nil
		for name := range f.Wires {
			if err := l.restoreWire(ctx, name); err != nil {
				return err
			}
		}
		f.Wires = nil
		for host := range f.Clocks {
			if err := l.setClock(ctx, host, 0); err != nil {
				return err
			}
		}
		f.Clocks = nil
		return nil
	})
}
