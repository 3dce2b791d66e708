package qmp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// askAgain is how long Unplug waits for the guest before it asks once more. A guest with
// native PCIe hot-plug takes two requests within five seconds for a change of mind.
const askAgain = 10 * time.Second

// Unplug takes a NIC out. It returns when the guest has let go of it and QEMU has deleted it. A NIC
// that is not there is no error. If the guest keeps it until the context ends, the NIC stays, and
// a further call asks the guest again.
func (m *Machine) Unplug(ctx context.Context, id string) error {
	if err := checkID("unplug NIC", id); err != nil {
		return err
	}
	if err := m.removeDevice(ctx, prefix+id); err != nil {
		return m.failed("unplug NIC", id, err, "look whether the guest runs and supports hot-plug, and try again")
	}
	err := m.call(ctx, "netdev_del", map[string]string{"id": prefix + id}, nil)
	if err != nil && !notFound(err) {
		return m.failed("unplug NIC", id, err, "try again")
	}
	return nil
}

// removeDevice asks the guest to let go of a device, until it is gone.
func (m *Machine) removeDevice(ctx context.Context, id string) error {
	gone := m.watch(id)
	defer m.unwatch(id, gone)
	for {
		err := m.call(ctx, "device_del", map[string]string{"id": id}, nil)
		if notFound(err) {
			return nil
		}
		if err != nil && !beingUnplugged(err) {
			return err
		}
		select {
		case <-gone:
			return nil
		case <-time.After(askAgain):
		case <-m.done:
			return m.ended()
		case <-ctx.Done():
			return fmt.Errorf("the guest was asked and has not let go of it: %w", context.Cause(ctx))
		}
	}
}

// beingUnplugged reports whether QEMU says that the guest was asked already.
func beingUnplugged(err error) bool {
	var r *refusal
	return errors.As(err, &r) && strings.Contains(r.Text, "in the process of unplug")
}

// watch returns what is closed when the device is gone.
func (m *Machine) watch(id string) watch {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := make(watch)
	if m.leaving[id] == nil {
		m.leaving[id] = map[watch]bool{}
	}
	m.leaving[id][w] = true
	return w
}

func (m *Machine) unwatch(id string, w watch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.leaving[id], w)
	if len(m.leaving[id]) == 0 {
		delete(m.leaving, id)
	}
}

// deleted tells those who wait for a device that it is gone.
func (m *Machine) deleted(data json.RawMessage) {
	var what struct {
		Device string `json:"device"`
	}
	json.Unmarshal(data, &what) // a part of a device has no id, and nobody waits for it
	for w := range m.leaving[what.Device] {
		close(w)
	}
	delete(m.leaving, what.Device)
}
