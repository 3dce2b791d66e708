package lab

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// outputGrace is how long to wait for more output after a command ended: a daemon that it
// started may keep the other end open.
const outputGrace = 100 * time.Millisecond

// commandIO holds both ends of a command's files: the child's, and ours.
type commandIO struct {
	child  [3]*os.File
	input  *os.File // nil without input
	output map[byte]*os.File
	tty    bool
	ended  atomic.Bool
}

func openCommandIO(cmd *command) (e *commandIO, err error) {
	e = &commandIO{output: map[byte]*os.File{}}
	if cmd.Rows > 0 {
		return e, e.openTerminal(cmd.Rows, cmd.Columns)
	}
	if cmd.Input == "" {
		e.child[0], err = os.Open(os.DevNull)
	} else {
		e.child[0], e.input, err = os.Pipe()
	}
	for i, kind := range []byte{frameOutput, frameErrors} {
		if err == nil {
			e.output[kind], e.child[1+i], err = os.Pipe()
		}
	}
	if err != nil {
		e.close()
	}
	return e, err
}

// openTerminal makes a pseudoterminal for the command (pts(4)).
func (e *commandIO) openTerminal(rows, columns uint16) error {
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	e.tty, e.input, e.output[frameOutput] = true, near, near
	number, err := unix.IoctlGetInt(int(near.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(near.Fd()), unix.TIOCSPTLCK, 0)
	}
	var far *os.File
	if err == nil {
		far, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		near.Close()
		return err
	}
	// Fd put it into blocking mode, in which a read ignores deadlines.
	unix.SetNonblock(int(near.Fd()), true)
	e.child = [3]*os.File{far, far, far}
	resize(near, rows, columns)
	return nil
}

func resize(terminal *os.File, rows, columns uint16) {
	if raw, err := terminal.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) {
			unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
		})
	}
}

func (e *commandIO) closeChild() {
	for _, f := range e.child {
		if f != nil {
			f.Close()
		}
	}
}

func (e *commandIO) close() {
	e.closeChild()
	if e.input != nil {
		e.input.Close()
	}
	for _, f := range e.output {
		f.Close()
	}
}

// sendOutput sends what the command writes, until all others have closed the file, or the
// command has ended and no more comes.
func (e *commandIO) sendOutput(c *channel, kind byte, f *os.File) {
	b := make([]byte, 32<<10)
	for {
		if e.ended.Load() {
			f.SetReadDeadline(time.Now().Add(outputGrace))
		}
		n, err := f.Read(b)
		if n > 0 && c.sendFrame(kind, b[:n]) != nil || err != nil {
			return
		}
	}
}

// finish is called when the command has ended.
func (e *commandIO) finish() {
	e.ended.Store(true)
	for _, f := range e.output {
		f.SetReadDeadline(time.Now().Add(outputGrace))
	}
}

// copyInput copies the caller's input to the command.
func (e *commandIO) copyInput(from *channel) {
	io.Copy(e.input, from)
	if !e.tty {
		e.input.Close()
	}
}

// lookPath finds the command's file in the caller's PATH.
func lookPath(cmd *command) (string, error) {
	name := cmd.Argv[0]
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(cmd.Dir, name)
		}
		return exec.LookPath(name)
	}
	for _, v := range cmd.Env {
		if list, found := strings.CutPrefix(v, "PATH="); found {
			for _, dir := range filepath.SplitList(list) {
				if file, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(file) {
					return file, nil
				}
			}
		}
	}
	return "", exec.ErrNotFound
}
