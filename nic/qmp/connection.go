package qmp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// maxLine is the largest message from QEMU in bytes. The descriptions of a machine with many
// devices take some hundred KiB.
const maxLine = 16 << 20

// request is a command on its way to QEMU, with a file if it takes one.
type request struct {
	ctx     context.Context
	line    []byte
	file    *os.File
	answers chan answer
}

// command is a line to QEMU.
type command struct {
	Execute   string `json:"execute"`
	Arguments any    `json:"arguments,omitempty"`
	ID        uint64 `json:"id"`
}

// message is a line from QEMU: the greeting, an answer, or an event.
type message struct {
	Greeting json.RawMessage `json:"QMP"`
	ID       *uint64         `json:"id"`
	Return   json.RawMessage `json:"return"`
	Error    *refusal        `json:"error"`
	Event    string          `json:"event"`
	Data     json.RawMessage `json:"data"` // of an event
}

type answer struct {
	result json.RawMessage
	err    error
}

// call sends a command and reads its answer into result. An error of QEMU's is a *refusal.
func (m *Machine) call(ctx context.Context, name string, arguments, result any) error {
	return m.callWith(ctx, name, arguments, nil, result)
}

// callWith sends a command with a file. The file may be nil.
func (m *Machine) callWith(ctx context.Context, name string, arguments any, file *os.File, result any) error {
	number, answers := m.expect()
	defer m.forget(number)
	line, err := json.Marshal(command{name, arguments, number})
	if err != nil {
		return err
	}
	select {
	case m.requests <- request{ctx, append(line, '\n'), file, answers}:
	case <-m.done:
		return m.ended()
	case <-ctx.Done():
		return fmt.Errorf("%s was not sent to QEMU: %w", name, context.Cause(ctx))
	}
	select {
	case a := <-answers:
		return a.decode(name, result)
	case <-m.done:
		select {
		case a := <-answers: // the last one before the end
			return a.decode(name, result)
		default:
			return m.ended()
		}
	case <-ctx.Done():
		return fmt.Errorf("QEMU has not answered %s: %w", name, context.Cause(ctx))
	}
}

func (a answer) decode(command string, result any) error {
	if a.err != nil || result == nil {
		return a.err
	}
	if err := json.Unmarshal(a.result, result); err != nil {
		return fmt.Errorf("read QEMU's answer to %s: %w", command, err)
	}
	return nil
}

// expect returns the number of a new command, and where its answer arrives.
func (m *Machine) expect() (uint64, chan answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	m.waiting[m.last] = make(chan answer, 1)
	return m.last, m.waiting[m.last]
}

func (m *Machine) forget(number uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.waiting, number)
}

// write sends the requests. It is a goroutine of its own, so that no caller waits for a socket
// that takes nothing.
func (m *Machine) write() {
	for {
		select {
		case <-m.done:
			return
		case r := <-m.requests:
			if r.ctx.Err() != nil {
				continue // the caller has gone
			}
			if err := m.send(r); err != nil {
				m.end(fmt.Errorf("write to QEMU: %w", err)) // half a line may be on its way
				return
			}
		}
	}
}

func (m *Machine) send(r request) error {
	if r.file == nil {
		_, err := m.conn.Write(r.line)
		return err
	}
	var sent error
	raw, err := r.file.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			var n int
			n, _, sent = m.conn.WriteMsgUnix(r.line, syscall.UnixRights(int(fd)), nil)
			if sent == nil && n < len(r.line) {
				sent = io.ErrShortWrite
			}
		})
	}
	if err != nil { // the file is closed, and nothing was sent
		select {
		case r.answers <- answer{err: err}:
		default:
		}
	}
	return sent
}

// read takes QEMU's messages until the connection ends.
func (m *Machine) read() {
	defer close(m.done)
	lines := bufio.NewScanner(m.conn)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var got message
		if err := json.Unmarshal(lines.Bytes(), &got); err != nil {
			m.end(fmt.Errorf("read from QEMU: %w", err))
			return
		}
		m.deliver(got)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		m.end(fmt.Errorf("read from QEMU: a message has more than %d bytes", maxLine))
	case err != nil && !errors.Is(err, net.ErrClosed):
		m.end(fmt.Errorf("read from QEMU: %w", err))
	default:
		m.end(errors.New("QEMU has closed the connection"))
	}
}

// deliver passes a message to whoever waits for it.
func (m *Machine) deliver(got message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case got.Greeting != nil:
		select {
		case m.greeted <- struct{}{}:
		default:
		}
	case got.Event == "DEVICE_DELETED":
		m.deleted(got.Data)
	case got.ID != nil && m.waiting[*got.ID] != nil:
		a := answer{result: got.Return}
		if got.Error != nil {
			a.err = got.Error
		}
		m.waiting[*got.ID] <- a
		delete(m.waiting, *got.ID)
	}
}
