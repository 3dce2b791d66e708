package qmp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
)

// QEMU talks to one program at a time, and the next one's turn comes.
func TestDialTwice(t *testing.T) {
	m, _ := machine(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := Dial(ctx, m.path)
	refused(t, err, heddle.MachineAway)
	if err == nil || !strings.Contains(err.Error(), "one at a time") {
		t.Errorf("%v says nothing of the other program", err)
	}
	const others = 6 // more than QEMU lets wait
	next := make(chan error)
	for range others {
		go func() {
			m, err := Dial(limit(t), m.path)
			if err == nil {
				err = m.Close()
			}
			next <- err
		}()
	}
	time.Sleep(50 * time.Millisecond)
	must(t, m.Close())
	must(t, m.Close())
	for range others {
		must(t, <-next)
	}
	_, err = m.Plugged(limit(t))
	refused(t, err, heddle.MachineAway)
	_, err = Dial(limit(t), m.path+"-not")
	refused(t, err, heddle.MachineAway)
}

// Everything ends when QEMU does.
func TestMachineEnds(t *testing.T) {
	m, qemu := machine(t, port("id=slot1,chassis=1"))
	must(t, m.Plug(limit(t), nic(t, "a", 1)))
	unplugged := make(chan error)
	go func() { unplugged <- m.Unplug(limit(t), "a") }()
	select {
	case err := <-unplugged:
		t.Errorf("unplugged without a guest: %v", err)
	case <-m.Done():
		t.Error("the connection has ended")
	case <-time.After(100 * time.Millisecond):
	}
	must(t, qemu.Process.Kill())
	<-m.Done()
	refused(t, <-unplugged, heddle.MachineAway)
	refused(t, m.Plug(limit(t), nic(t, "b", 2)), heddle.MachineAway)
}

// A machine that stands still keeps nobody longer than the context.
func TestMachineStill(t *testing.T) {
	m, qemu := machine(t, port("id=slot1,chassis=1"))
	must(t, qemu.Process.Signal(stop))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, _, err := m.Slots(ctx)
	refused(t, err, heddle.MachineAway)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v is not of the context's end", err)
	}
	must(t, qemu.Process.Signal(resume))
	slots(t, m, 1, 1)
}

// What is no QEMU is refused in words.
func TestStrangeSockets(t *testing.T) {
	folder, err := os.MkdirTemp("", "qmp")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(folder) })
	for name, c := range map[string]struct {
		says []byte
		want string
	}{
		"nothing": {nil, "closed"},
		"words":   {[]byte("220 mail.example ready\n"), "read from QEMU"},
		"long":    {bytes.Repeat([]byte("x"), maxLine+1), "more than"},
		"event":   {[]byte(`{"QMP":{}}` + "\n" + `{"event":"DEVICE_DELETED","data":{"device":5}}` + "\n" + `{"event":"DEVICE_DELETED"}` + "\n"), "closed"},
		"twice":   {[]byte(`{"QMP":{}}` + "\n" + `{"QMP":{}}` + "\n" + `{"return":{},"id":77}` + "\n"), "closed"},
		"numbers": {[]byte(`{"QMP":{}}` + "\n" + `{"id":"one"}` + "\n"), "read from QEMU"},
		"refusal": {[]byte(`{"QMP":{}}` + "\n" + `{"id":1,"error":{"class":"GenericError","desc":"not today"}}` + "\n"), "not today"},
	} {
		socket := filepath.Join(folder, name)
		l, err := net.Listen("unix", socket)
		must(t, err)
		go func() {
			if conn, err := l.Accept(); err == nil {
				for i, part := range bytes.SplitAfterN(c.says, []byte("\n"), 2) {
					if i > 0 && len(part) > 0 { // what comes after the greeting is for the first command
						bufio.NewReader(conn).ReadSlice('\n')
					}
					conn.Write(part)
				}
				conn.Close()
			}
		}()
		m, err := Dial(limit(t), socket)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want %q", name, m, err, c.want)
		}
		l.Close()
	}
}
