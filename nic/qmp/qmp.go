// Package qmp plugs NICs into a running virtual machine and unplugs them, over QEMU's machine
// protocol (QMP; QEMU's docs/interop/qmp-spec). It keeps no record: what is plugged, and which
// slots are free, is asked of QEMU each time.
package qmp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/heddle-network/heddle"
)

// Machine is a connection to QEMU's machine protocol. Methods may be called at the same time.
// Each ends when its context ends, or the connection.
type Machine struct {
	path     string
	conn     *net.UnixConn
	greeted  chan struct{} // gets one value when QEMU has sent its greeting
	requests chan request  // to the goroutine that writes
	done     chan struct{} // closed when the connection has ended
	plugging chan struct{} // holds one value while a NIC is being plugged: two must not choose the same slot

	mu      sync.Mutex
	last    uint64                    // number of the last command
	waiting map[uint64]chan answer    // commands without an answer, by their number
	leaving map[string]map[watch]bool // who waits until a device is gone, by the device's id
	cause   error                     // why the connection has ended
}

// watch is closed when the device is gone.
type watch chan struct{}

// Dial connects to the socket of a machine: of QEMU's option -qmp unix:PATH,server=on. QEMU
// talks to one program at a time, so Dial waits until the others have ended.
func Dial(ctx context.Context, path string) (*Machine, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	for errors.Is(err, syscall.EAGAIN) && ctx.Err() == nil { // others wait already, and QEMU lets few wait
		time.Sleep(10 * time.Millisecond)
		conn, err = (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	if err != nil {
		return nil, heddle.Wrap(heddle.MachineAway, "connect to machine", path, err, "look whether the machine runs, and QEMU was started with -qmp")
	}
	m := &Machine{
		path: path, conn: conn.(*net.UnixConn), greeted: make(chan struct{}, 1), requests: make(chan request), done: make(chan struct{}),
		plugging: make(chan struct{}, 1), waiting: map[uint64]chan answer{}, leaving: map[string]map[watch]bool{},
	}
	go m.read()
	go m.write()
	if err := m.negotiate(ctx); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// negotiate waits for the greeting, and makes QEMU accept commands.
func (m *Machine) negotiate(ctx context.Context) error {
	const op = "connect to machine"
	select {
	case <-m.greeted:
	case <-m.done:
		return m.failed(op, m.path, m.ended(), "look whether the machine runs")
	case <-ctx.Done():
		return m.failed(op, m.path, fmt.Errorf("QEMU sent no greeting: %w", context.Cause(ctx)),
			"end the program that is connected to it, if there is one: QEMU talks to one at a time")
	}
	if err := m.call(ctx, "qmp_capabilities", nil, nil); err != nil {
		return m.failed(op, m.path, err, "look whether the machine runs")
	}
	return nil
}

// Close ends the connection. The machine and its NICs stay.
func (m *Machine) Close() error {
	m.end(errors.New("the connection was closed"))
	<-m.done
	return nil
}

// Done returns a channel that is closed when the connection has ended.
func (m *Machine) Done() <-chan struct{} { return m.done }

// end ends the connection. The first cause counts.
func (m *Machine) end(cause error) {
	m.mu.Lock()
	if m.cause == nil {
		m.cause = cause
	}
	m.mu.Unlock()
	m.conn.Close()
}

// ended returns why the connection has ended.
func (m *Machine) ended() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cause
}

// refusal is QEMU's answer to a command that failed.
type refusal struct {
	Class string `json:"class"`
	Text  string `json:"desc"`
}

func (r *refusal) Error() string { return r.Text }

// notFound reports whether QEMU says that the device does not exist.
func notFound(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.Class == "DeviceNotFound"
}

// failed makes an error of a call. QEMU's own words become the cause.
func (m *Machine) failed(op, object string, err error, remedy string) error {
	code := heddle.MachineAway
	var r *refusal
	if errors.As(err, &r) {
		code = heddle.MachineRefused
	}
	return heddle.Wrap(code, op, object, err, remedy)
}
