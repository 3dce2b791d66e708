package doctor

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// process is a running program in the host's own network namespace.
type process struct {
	pid, parent int
	// name is the kernel's, cut after 15 bytes; command is the whole line.
	name, command string
}

func (p process) String() string {
	return "/proc/" + strconv.Itoa(p.pid) + "/cmdline: " + p.command
}

// ownNetns is the network namespace of the calling thread.
const ownNetns = "/proc/thread-self/ns/net"

// Processes lists the processes of this network namespace. Network managers in containers, or
// in other hosts of a lab, do not matter.
func (h *Host) Processes() ([]process, error) {
	return h.processes.get(func() ([]process, error) {
		// not /proc/self: the process's first thread may be in another namespace
		own, err := os.Readlink(ownNetns)
		if err != nil {
			return nil, err
		}
		folders, err := filepath.Glob("/proc/[0-9]*")
		var all []process
		for _, f := range folders {
			if at, err := os.Readlink(f + "/ns/net"); err != nil || at != own {
				continue
			}
			pid, _ := strconv.Atoi(filepath.Base(f))
			name, _ := os.ReadFile(f + "/comm")
			line, _ := os.ReadFile(f + "/cmdline")
			status, _ := os.ReadFile(f + "/status")
			parent, _ := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(lineWith(string(status), "PPid:"), "PPid:")))
			all = append(all, process{pid, parent, strings.TrimSpace(string(name)), strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))})
		}
		return all, err
	})
}

// running returns the processes of one program, by the name of its file or by the kernel's name.
// It leaves out children with the command line of their parent: they are about to execute
// another program.
func (h *Host) running(program string) (some []process) {
	all, _ := h.Processes()
	for _, p := range all {
		first, _, _ := strings.Cut(p.command, " ")
		if filepath.Base(first) == program || p.name == program[:min(len(program), 15)] && p.command != "" {
			some = append(some, p)
		}
	}
	return slices.DeleteFunc(some, func(p process) bool {
		return slices.ContainsFunc(all, func(q process) bool { return q.pid == p.parent && q.command == p.command })
	})
}

// Agent returns the PID of the process that listens on the agent's socket.
func (h *Host) Agent() (int, error) {
	return h.agent.get(func() (int, error) {
		c, err := net.DialTimeout("unix", h.Socket, time.Second)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		raw, err := c.(*net.UnixConn).SyscallConn()
		if err != nil {
			return 0, err
		}
		var peer *unix.Ucred
		var refused error
		err = raw.Control(func(fd uintptr) { peer, refused = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
		if err = errors.Join(err, refused); err != nil {
			return 0, err
		}
		return int(peer.Pid), nil
	})
}

// proc reads a file of the agent's process, such as "status".
func (h *Host) proc(name string) (string, error) {
	pid, err := h.Agent()
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
	return string(b), err
}

// lineWith returns the first line of a text that starts with a word.
func lineWith(text, word string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, word) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
