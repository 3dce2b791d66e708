package lab

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// enterMachine runs a command in a machine. It runs in the emulator's network namespace,
// carries the command's input, output and signals, and ends as the command does, or with the machine's init.
func enterMachine(init string, argv []string) int {
	dir, _ := os.Getwd()
	cmd := &command{Argv: argv, Env: os.Environ(), Dir: dir}
	ctx := context.Background()
	c, err := dialMachine(ctx)
	if err != nil {
		return reportError(argv[0], "the machine does not answer: "+err.Error(), notExecutable)
	}
	defer c.Close()
	ended, err := endOf(init)
	if err != nil {
		return reportError(argv[0], "the machine is gone: "+err.Error(), notExecutable)
	}
	go func() {
		ended()
		c.Close() // nobody else does: the emulator ends without a word
	}()
	if size := terminalSize(); size != nil {
		cmd.Rows, cmd.Columns = max(size.Row, 1), size.Col
		defer rawTerminal()()
	}
	if hasInput() {
		cmd.Input = rand.Text()
	}
	if err := c.send(request{Verb: verbRun, Command: cmd}); err != nil {
		return reportError(argv[0], err.Error(), notExecutable)
	}
	if cmd.Input != "" {
		if err := sendInput(ctx, cmd.Input); err != nil {
			return reportError(argv[0], err.Error(), notExecutable)
		}
	}
	go passSignals(c, cmd.Rows > 0)
	return c.watch(argv[0], cmd.Rows > 0)
}

// endOf returns a function that waits for the end of a process.
func endOf(pid string) (wait func(), err error) {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return nil, err
	}
	fd, err := unix.PidfdOpen(n, 0)
	if err != nil {
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	return func() {
		for {
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); err != unix.EINTR {
				return
			}
		}
	}, nil
}

func reportError(command, why string, code int) int {
	fmt.Fprintf(os.Stderr, "%s: %s\n", command, why)
	return code
}

// watch shows what the command writes, and returns its exit code.
func (c *channel) watch(command string, terminal bool) int {
	for {
		kind, data, err := c.receiveFrame()
		switch {
		case errors.Is(err, net.ErrClosed):
			return reportError(command, "the machine has ended", notExecutable)
		case err != nil:
			return reportError(command, "the machine is gone: "+err.Error(), notExecutable)
		case kind == frameOutput:
			os.Stdout.Write(data)
		case kind == frameErrors:
			os.Stderr.Write(data)
		case kind == frameFailed && len(data) > 0:
			return reportError(command, string(data[1:]), int(data[0]))
		case kind == frameEnd && len(data) == 4:
			return endAs(unix.WaitStatus(binary.BigEndian.Uint32(data)), terminal)
		}
	}
}

// endAs ends this process by the signal that ended the command, or returns the
// command's code.
func endAs(s unix.WaitStatus, terminal bool) int {
	if !s.Signaled() {
		return s.ExitStatus()
	}
	if !terminal { // a terminal must be restored first
		signal.Reset(s.Signal())
		unix.Kill(os.Getpid(), s.Signal())
		time.Sleep(time.Second) // until it arrives
	}
	return 128 + int(s.Signal())
}

// hasInput reports whether standard input is open and not /dev/null.
func hasInput() bool {
	var here, null unix.Stat_t
	if unix.Fstat(0, &here) != nil {
		return false
	}
	return unix.Stat(os.DevNull, &null) != nil || here.Rdev != null.Rdev || here.Mode&unix.S_IFMT != unix.S_IFCHR
}

// sendInput sends the command's input on a connection of its own: signals must reach a
// command that does not read.
func sendInput(ctx context.Context, name string) error {
	in, err := dialMachine(ctx)
	if err != nil {
		return err
	}
	if err := in.send(request{Verb: verbInput, Name: name}); err != nil {
		return err
	}
	go func() {
		io.Copy(in.Conn, os.Stdin)
		in.closeWrite()
	}()
	return nil
}

// passSignals forwards signals, and the terminal's size when it changes. SIGTSTP is sent as
// SIGSTOP: no shell in the command's session could continue it.
func passSignals(c *channel, terminal bool) {
	came := make(chan os.Signal, 16)
	signal.Notify(came, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGTSTP, unix.SIGCONT, unix.SIGWINCH)
	for s := range came {
		switch {
		case s == unix.SIGTSTP:
			c.sendFrame(frameSignal, []byte{byte(unix.SIGSTOP)})
			unix.Kill(os.Getpid(), unix.SIGSTOP) // the caller's shell waits for this, and sends SIGCONT later
		case s != unix.SIGWINCH:
			c.sendFrame(frameSignal, []byte{byte(s.(syscall.Signal))})
		case terminal:
			if size := terminalSize(); size != nil {
				c.sendFrame(frameSize, binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, size.Row), size.Col))
			}
		}
	}
}

// terminalSize is nil unless input and output are terminals.
func terminalSize() *unix.Winsize {
	if _, err := unix.IoctlGetTermios(0, unix.TCGETS); err != nil {
		return nil
	}
	size, err := unix.IoctlGetWinsize(1, unix.TIOCGWINSZ)
	if err != nil {
		return nil
	}
	return size
}

// rawTerminal puts the caller's terminal into raw mode (cfmakeraw(3)), so that the machine's
// terminal handles the keys. It returns a function that restores the old mode.
func rawTerminal() (restore func()) {
	before, err := unix.IoctlGetTermios(0, unix.TCGETS)
	if err != nil {
		return func() {}
	}
	raw := *before
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if unix.IoctlSetTermios(0, unix.TCSETS, &raw) != nil {
		return func() {}
	}
	return func() { unix.IoctlSetTermios(0, unix.TCSETS, before) }
}
