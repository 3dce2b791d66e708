// Package container runs a program in a container: in a network namespace that is there, with a file system, process IDs
// and rights of its own. Whatever ends this process ends the program.
package container

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/crowd/socket"
)

// Program is what runs in a container. It is the first process there, and must stay in the foreground: when it ends, all
// that it has started ends.
type Program struct {
	// Path is where the program is on this host: below /usr, or in a folder such as /sbin.
	Path string
	// As is what it is called, its argument 0; "" is its path.
	As   string
	Args []string
	// Files are what it finds beside the programs and libraries of this host.
	Files []File
	// Folders are those that it may write to.
	Folders []string
	// Size is how much its files take at most, in bytes.
	Size int64
	// Input and Output are its standard input and output. Without the one it has an empty input; without the other, what it says there
	// is among its last words, as what it says of errors always is.
	Input, Output *os.File
	// Nice is its niceness, from -20 to 19, whatever that of this process is. Where it may not be less, it is that of this process.
	Nice int
}

// File is a file of a container, below its root.
type File struct {
	Name  string
	Write func(io.Writer) error
	// Changed is when it says that it was changed last; zero is when the container starts.
	Changed time.Time
}

// nobody is the user and group as whom programs run: the kernel's own of who is unknown (overflowuid).
const nobody = 65534

// Container is a program that has been started. It runs as nobody, without privileges. It sees its files, and /usr, which
// it cannot change. All files are in memory, and end with it.
type Container struct {
	program Program
	within  socket.Namespace
	cmd     *exec.Cmd
	said    tail
	ended   chan struct{}
	how     string // the program ended; set before ended is closed
	closing sync.Once

	mu     sync.Mutex
	reaped bool // its number may be another's
}

// Start starts a program in a network namespace. It needs CAP_SYS_ADMIN.
func Start(n socket.Namespace, p Program) (*Container, error) {
	c := &Container{program: p, within: n, ended: make(chan struct{})}
	started := make(chan error, 1)
	go c.run(started)
	return c, <-started
}

// run is a thread of this container alone, which cannot return to where it came from. The kernel kills the program when the
// thread that started it ends (PR_SET_PDEATHSIG), so the thread stays until the program has ended.
func (c *Container) run(started chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() { // others take the first thread's namespaces for those of the process
		begun := make(chan error, 1)
		go c.run(begun)
		started <- <-begun
		runtime.UnlockOSThread()
		return
	}
	defer close(c.ended)
	err := c.start()
	started <- err
	if err != nil {
		return
	}
	c.reap()
	c.how = c.cmd.ProcessState.String()
	if words := c.said.String(); words != "" {
		c.how += ": " + words
	}
}

// reap waits until the program has ended, and until it has said all.
func (c *Container) reap() {
	for unix.Waitid(unix.P_PID, c.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR { // it keeps its number
	}
	c.mu.Lock()
	c.reaped = true
	c.mu.Unlock()
	c.cmd.Wait()
}

func (c *Container) start() error {
	if err := c.within.Enter(); err != nil {
		return err
	}
	// It has no privileges, so that ports below 1024 must be everybody's. Nobody else is in the namespace.
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("0"), 0); err != nil {
		return fmt.Errorf("let a program without privileges listen: %w", err)
	}
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	unix.Umask(0o022) // of this thread alone since it has mounts of its own: the program reads what root writes
	if err := c.program.root(); err != nil {
		return err
	}
	if err := keepNothing(); err != nil {
		return err
	}
	unix.Setpriority(unix.PRIO_PROCESS, 0, c.program.Nice) // of this thread, and what it starts
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("take the way to privileges away: %w", err)
	}
	if err := filter(); err != nil {
		return err
	}
	c.cmd = exec.Command(c.program.Path, c.program.Args...)
	c.cmd.Args[0] = cmp.Or(c.program.As, c.program.Path)
	c.cmd.Env, c.cmd.Dir = []string{"PATH=/usr/sbin:/usr/bin", "LANG=C.UTF-8", "HOME=/"}, "/"
	c.cmd.Stdout, c.cmd.Stderr = &c.said, &c.said
	if c.program.Input != nil {
		c.cmd.Stdin = c.program.Input
	}
	if c.program.Output != nil {
		c.cmd.Stdout = c.program.Output
	}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL, Setsid: true,
		Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.program.Path, err)
	}
	return nil
}

// keepNothing sees that the program gets neither files nor keys: an open folder of the host's would lead out of its root, and
// whoever has a session's keyring may read what is in it (session-keyring(7)).
func keepNothing() error {
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil { // Go's are so, others may have been inherited
		return fmt.Errorf("keep open files from a program: %w", err)
	}
	_, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0)         // a new one, without a name
	if err != nil && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) { // no keys here, or none for us and what we start
		return fmt.Errorf("keep keys from a program: %w", err)
	}
	return nil
}

// Ended is closed when the program has ended.
func (c *Container) Ended() <-chan struct{} { return c.ended }

// How says how the program ended, with its last words. It waits for the end.
func (c *Container) How() string {
	<-c.ended
	return c.how
}

// Words are what the program has said last.
func (c *Container) Words() string { return c.said.String() }

// Close ends the program, and all that it has started, and waits until they have ended.
func (c *Container) Close() {
	c.closing.Do(func() {
		if c.cmd != nil && c.cmd.Process != nil {
			c.cmd.Process.Kill() // the first process of its PID namespace: the kernel kills all others
		}
	})
	<-c.ended
}
