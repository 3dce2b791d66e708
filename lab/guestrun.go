package lab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const inputTime = 10 * time.Second // limit for a command's input to connect

// run runs a command and exchanges its frames, until it has ended or its caller is gone.
func (g *guestInit) run(c *channel, cmd *command) {
	files, err := openCommandIO(cmd)
	if err != nil {
		c.sendFrame(frameFailed, append([]byte{notExecutable}, err.Error()...))
		return
	}
	defer files.close()
	var from *channel
	if cmd.Input != "" {
		if from, err = g.inputOf(cmd.Input); err != nil {
			c.sendFrame(frameFailed, append([]byte{notExecutable}, err.Error()...))
			return
		}
		defer from.Close()
	}
	pid, ended, err := g.spawn(cmd, files)
	if err != nil {
		c.sendFrame(frameFailed, append([]byte{exitCodeOf(err)}, fmt.Sprintf("%s: %v", cmd.Argv[0], err)...))
		return
	}
	files.closeChild()
	if from != nil {
		go files.copyInput(from)
	}
	carried := make(chan bool, len(files.output))
	for kind, f := range files.output {
		go func() { files.sendOutput(c, kind, f); carried <- true }()
	}
	go g.followCaller(c, pid, files)
	status := <-ended
	files.finish()
	for range files.output {
		<-carried
	}
	c.sendFrame(frameEnd, binary.BigEndian.AppendUint32(nil, uint32(status)))
}

// exitCodeOf returns the exit code with which shells report that a command did not start.
func exitCodeOf(err error) byte {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return notFound
	}
	return notExecutable
}

// spawn starts the command; the supervisor sends its status when it ends.
func (g *guestInit) spawn(cmd *command, files *commandIO) (pid int, ended chan unix.WaitStatus, err error) {
	file, err := lookPath(cmd)
	if err != nil {
		return 0, nil, err
	}
	attr := &syscall.ProcAttr{Dir: cmd.Dir, Env: cmd.Env, Sys: &syscall.SysProcAttr{Setsid: true, Setctty: files.tty}}
	if info, err := os.Stat(cmd.Dir); err != nil || !info.IsDir() {
		attr.Dir = "/"
	}
	for _, f := range files.child {
		attr.Files = append(attr.Files, f.Fd())
	}
	ended = make(chan unix.WaitStatus, 1)
	g.supervisor.mu.Lock()
	defer g.supervisor.mu.Unlock()
	if pid, err = syscall.ForkExec(file, cmd.Argv, attr); err == nil {
		g.others[pid] = ended
	}
	return pid, ended, err
}

// signalChild signals a child that has not been reaped. A reaped child's PID may belong to
// another process.
func (g *guestInit) signalChild(pid int, s unix.Signal) {
	g.supervisor.mu.Lock()
	defer g.supervisor.mu.Unlock()
	if g.others[pid] != nil {
		unix.Kill(pid, s)
	}
}

// killGroup kills a child that has not been reaped, and what it started in its process group: such a process would hold its ports.
func (g *guestInit) killGroup(pid int) {
	g.supervisor.mu.Lock()
	defer g.supervisor.mu.Unlock()
	if g.others[pid] != nil {
		unix.Kill(-pid, unix.SIGKILL)
	}
}

// followCaller handles the caller's frames. It kills the command and its process group when the caller disconnects.
func (g *guestInit) followCaller(c *channel, pid int, files *commandIO) {
	for {
		kind, data, err := c.receiveFrame()
		switch {
		case err != nil:
			g.killGroup(pid)
			return
		case kind == frameSignal && len(data) == 1:
			g.signalChild(pid, unix.Signal(data[0]))
		case kind == frameSize && len(data) == 4 && files.tty:
			resize(files.output[frameOutput], binary.BigEndian.Uint16(data), binary.BigEndian.Uint16(data[2:]))
		}
	}
}

// deliverInput gives a connection to the command that waits for it.
func (g *guestInit) deliverInput(name string, c *channel) (taken bool) {
	select {
	case g.input(name) <- c:
		taken = true
	case <-time.After(inputTime):
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.inputs, name)
	return taken
}

func (g *guestInit) input(name string) chan *channel {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inputs[name] == nil {
		g.inputs[name] = make(chan *channel)
	}
	return g.inputs[name]
}

func (g *guestInit) inputOf(name string) (*channel, error) {
	select {
	case c := <-g.input(name):
		return c, nil
	case <-time.After(inputTime):
		return nil, errors.New("the command's input does not come")
	}
}
