package lab

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// The words told to an init, one byte each.
const (
	wordGo   = 'g' // you are recorded and wired: furnish the host
	wordStay = 's' // all went well: outlive your maker
)

const (
	namespaces = unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWPID

	// Where a host's agent runs, seen from inside.
	runDir   = "/run/heddle"
	stateDir = "/var/lib/heddle"
	socket   = runDir + "/heddle.sock"
)

// spec is what an init needs to know, passed as a file.
type spec struct {
	Name    string            `json:"name"`
	Group   string            `json:"group"` // the cgroup, relative to each hierarchy
	Names   []string          `json:"names"` // lines for /etc/hosts
	Sysctls map[string]string `json:"sysctls,omitempty"`
	// Agent is the agent's command with the flags that every agent has,
	// AgentArgs what this one is given besides at its first start.
	Agent     []string  `json:"agent,omitempty"`
	AgentArgs []string  `json:"agentArgs,omitempty"`
	Programs  []program `json:"programs,omitempty"`
}

// beginning is an init that Up has started and talks with.
type beginning struct {
	host *Host
	say  *os.File
	// reports are the init's own lines; closed when it ends.
	reports chan string
}

// start starts the init of host i; -1 is the switch.
func (l *Lab) start(i int) (*beginning, error) {
	h, s := l.describe(i)
	if err := writeJSON(filepath.Join(h.folder, specName), s); err != nil {
		return nil, heddle.Wrap(heddle.LabFailed, "describe the host", h.Name, err, "")
	}
	in, err := h.fork(l.folder)
	if err != nil {
		return nil, heddle.Wrap(heddle.LabFailed, "start the host", h.Name, err, "namespaces need root (CAP_SYS_ADMIN)")
	}
	return in, nil
}

func (l *Lab) describe(i int) (*Host, spec) {
	o := l.Options
	name, number := SwitchName, routerNumber
	if i >= 0 {
		name, number = hostName(i), hostOffset+i+1
	}
	h := &Host{folder: filepath.Join(l.folder, name), Name: name, Addr4: address(o.Subnet4, number), Addr6: address(o.Subnet6, number)}
	s := spec{Name: name, Group: filepath.Join(groupName(l.folder), name), Names: o.names(), Sysctls: switchSysctls()}
	if i >= 0 {
		s.Sysctls = o.Sysctls
		if !o.NoAgent {
			h.Log = filepath.Join(h.folder, logName(agentProgram))
			s.Agent = slices.Concat(o.AgentCommand, []string{"--name", name, "--run-dir", runDir, "--state-dir", stateDir})
			s.AgentArgs = slices.Concat(o.AgentArgs, o.HostAgentArgs[name])
		}
	}
	return h, s
}

// program returns the program of that name, nil where there is none.
func (s spec) program(name string) *program {
	for i := range s.Programs {
		if s.Programs[i].Name == name {
			return &s.Programs[i]
		}
	}
	return nil
}

func (o Options) names() []string {
	var lines []string
	for i := range o.Hosts {
		for _, a := range o.addresses(hostOffset + i + 1) {
			lines = append(lines, fmt.Sprintf("%s %s", a.Addr(), hostName(i)))
		}
	}
	return lines
}

// fork starts this program again as the host's init, in new namespaces. The
// init waits for wordGo, and ends if it reads the end of the pipe before
// wordStay: so it never survives a maker that could not record it.
func (h *Host) fork(lab string) (*beginning, error) {
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
	cmd.ExtraFiles = []*os.File{hear, report}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Setsid: true}
	if err := cmd.Start(); err != nil {
		say.Close()
		read.Close()
		return nil, err
	}
	go cmd.Wait() // or the dead init stays a zombie as long as we live
	return h.born(cmd.Process.Pid, say, read)
}

func (h *Host) born(pid int, say, read *os.File) (*beginning, error) {
	in := &beginning{host: h, say: say, reports: make(chan string, 4)}
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
