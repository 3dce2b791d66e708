package lab

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// The commands for an init, one byte each.
const (
	wordGo   = 'g' // the init is recorded and wired: set up the host
	wordStay = 's' // the lab is complete: stay when the maker ends
)

const (
	namespaces = unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWPID

	// The agent's folders and socket, in the host.
	runDir   = "/run/heddle"
	stateDir = "/var/lib/heddle"
	socket   = runDir + "/heddle.sock"
)

// spec is the record that an init reads, from a file.
type spec struct {
	Name    string            `json:"name"`
	Group   string            `json:"group"` // the cgroup, relative to each hierarchy
	Names   []string          `json:"names"` // lines for /etc/hosts
	Sysctls map[string]string `json:"sysctls,omitempty"`
	// Agent is the agent's command with the flags that every agent has, AgentArgs the
	// further arguments for the first start of this one.
	Agent     []string  `json:"agent,omitempty"`
	AgentArgs []string  `json:"agentArgs,omitempty"`
	AgentEnv  []string  `json:"agentEnv,omitempty"`
	Programs  []program `json:"programs,omitempty"`
	// Machine is the record of a virtual machine. Then Programs run in the guest, and the
	// init runs those of the emulator.
	Machine *machineSpec `json:"machine,omitempty"`
	// Management says that the init sees the management sockets of the lab's machines.
	Management bool `json:"management,omitempty"`
}

// initPrograms returns the programs that the init runs itself.
func (s spec) initPrograms() []program {
	if s.Machine != nil {
		return s.Machine.Emulator
	}
	return s.Programs
}

// initProcess is an init that was started and that still takes commands.
type initProcess struct {
	host     *Host
	commands *os.File
	// reports are the init's lines; the channel is closed when the init ends.
	reports chan string
}

// start starts the init of a host or switch.
func (l *Lab) start(h *Host, s spec) (*initProcess, error) {
	h.folder = filepath.Join(l.folder, h.Name)
	s.Name, s.Group = h.Name, filepath.Join(groupName(l.folder), h.Name)
	s.Names = l.Topology.names()
	if err := writeJSON(filepath.Join(h.folder, specName), s); err != nil {
		return nil, heddle.Wrap(heddle.LabFailed, "write record of host", h.Name, err, "")
	}
	if len(s.Agent) > 0 {
		h.Log = filepath.Join(h.folder, logName(agentProgram))
	}
	in, err := h.fork(l.folder)
	if err != nil {
		return nil, heddle.Wrap(heddle.LabFailed, "start host", h.Name,
			err, "run it as root: namespaces need CAP_SYS_ADMIN")
	}
	return in, nil
}

// describe returns a host and the record for its init.
func (t Topology) describe(n *Node) (*Host, spec) {
	h := &Host{Name: n.Name, Addr4: ofFamily(n.NICs[0].Addresses, heddle.IPv4), Addr6: ofFamily(n.NICs[0].Addresses, heddle.IPv6)}
	s := spec{Sysctls: map[string]string{}, Management: t.needsManagement(n)}
	for _, set := range []map[string]string{routerSysctls(n.Router), t.Sysctls, n.Sysctls} {
		maps.Copy(s.Sysctls, set)
	}
	if !n.Agent.Off {
		s.Agent = slices.Concat(n.Agent.Command, []string{"--name", n.Name, "--run-dir", runDir, "--state-dir", stateDir})
		s.AgentArgs = n.Agent.Args
		s.AgentEnv = environment(n.Agent.Environment)
	}
	return h, s
}

func routerSysctls(router bool) map[string]string {
	if !router {
		return nil
	}
	return map[string]string{"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"}
}

func environment(set map[string]string) (all []string) {
	for _, key := range keys(set) {
		all = append(all, key+"="+set[key])
	}
	return all
}

// program returns the program of that name, or nil.
func (s spec) program(name string) *program {
	for i := range s.Programs {
		if s.Programs[i].Name == name {
			return &s.Programs[i]
		}
	}
	return nil
}

// names returns the hosts' lines of /etc/hosts.
func (t Topology) names() (lines []string) {
	for _, n := range t.Hosts {
		for _, nic := range n.NICs {
			for _, a := range nic.Addresses {
				lines = append(lines, fmt.Sprintf("%s %s", a.Addr(), n.Name))
			}
		}
	}
	return lines
}

// fork starts this program again as the host's init, in new namespaces. The init waits for
// wordGo, and ends if the pipe ends before wordStay. So it never survives a maker that could
// not record it.
func (h *Host) fork(lab string) (*initProcess, error) {
	hear, say, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer hear.Close()
	read, report, err := os.Pipe()
	if err != nil {
		say.Close()
		return nil, err
	}
	defer report.Close()
	cmd := exec.Command("/proc/self/exe", argInit, lab, h.Name)
	cmd.Args[0] = heddle.Mark
	cmd.Dir = "/"
	cmd.Env = insideEnvironment()
	cmd.ExtraFiles = []*os.File{hear, report}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Setsid: true}
	if err := cmd.Start(); err != nil {
		say.Close()
		read.Close()
		return nil, err
	}
	go cmd.Wait() // otherwise a dead init stays a zombie
	return h.newInitProcess(cmd.Process.Pid, say, read)
}

// insideEnvironment returns the caller's environment without its agent's socket: a host has its own.
func insideEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "HEDDLE_SOCKET=") })
}

func (h *Host) newInitProcess(pid int, say, read *os.File) (*initProcess, error) {
	in := &initProcess{host: h, commands: say, reports: make(chan string, 4)}
	go func() {
		defer close(in.reports)
		defer read.Close()
		for lines := bufio.NewScanner(read); lines.Scan(); {
			in.reports <- lines.Text()
		}
	}()
	_, started, err := stat(pid)
	if err != nil {
		say.Close()
		return nil, err
	}
	h.Pid, h.Started = pid, started
	h.Netns = fmt.Sprintf("/proc/%d/ns/net", pid)
	if h.Log != "" {
		h.Socket = fmt.Sprintf("/proc/%d/root%s", pid, socket)
	}
	return in, nil
}
