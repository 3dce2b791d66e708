package lab

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// guestInit is the first process of a machine. Like a host's init it starts and reaps
// programs, and it also answers requests on the control channel.
type guestInit struct {
	*supervisor
	spec   spec
	mu     sync.Mutex
	asked  []program
	inputs map[string]chan *channel // of commands that wait for their input
}

func newGuestInit(folder *os.Root, s spec) *guestInit {
	g := &guestInit{spec: s, inputs: map[string]chan *channel{}}
	g.supervisor = newSupervisor(folder, guestStateName, func() []program {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.asked
	})
	return g
}

// serve sets up the guest and answers requests.
func (g *guestInit) serve() error {
	m := g.spec.Machine
	setEnvironment(m.Env)
	if err := unix.Sethostname([]byte(g.spec.Name)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	if err := linkDescriptors(); err != nil {
		return err
	}
	if err := os.Mkdir("/run/lock", 0o777|os.ModeSticky); err != nil {
		return err
	}
	if err := useModules(m.Modules); err != nil {
		return err
	}
	l, err := m.wire()
	if err != nil {
		return fmt.Errorf("wire: %w", err)
	}
	for key, value := range g.spec.Sysctls {
		if err := setSysctl(key, value); err != nil {
			return fmt.Errorf("set %s=%s: %w", key, value, err)
		}
	}
	go g.answerAll(l)
	g.loop(nil)
	return nil
}

// sysctlModules are the modules that some sysctls need, by folder.
var sysctlModules = map[string]string{"/proc/sys/net/bridge/": "br_netfilter", "/proc/sys/net/netfilter/": "nf_conntrack"}

func setSysctl(key, value string) error {
	file := sysctlPath(key)
	for folder, module := range sysctlModules {
		if strings.HasPrefix(file, folder) {
			if out, err := exec.Command("modprobe", module).CombinedOutput(); err != nil {
				return fmt.Errorf("modprobe %s: %w: %s", module, err, bytes.TrimSpace(out))
			}
		}
	}
	return os.WriteFile(file, []byte(value), 0o644)
}

// linkDescriptors makes /dev/fd, /dev/stdin, /dev/stdout and /dev/stderr.
func linkDescriptors() error {
	for name, number := range map[string]string{"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"} {
		if err := os.Symlink("/proc/self/fd"+number, "/dev/"+name); err != nil {
			return err
		}
	}
	return nil
}

func (g *guestInit) answerAll(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go g.answer(newChannel(c))
	}
}

func (g *guestInit) answer(c *channel) {
	var r request
	err := c.receive(&r)
	if err == nil && r.Verb == verbInput && g.deliverInput(r.Name, c) {
		return // the command has the connection now
	}
	defer c.Close()
	if err != nil {
		return
	}
	switch r.Verb {
	case verbRun:
		g.run(c, r.Command)
	case verbDial:
		dialInside(c, r.Name)
	case verbProcessor:
		text, err := processorAccount()
		answer := reply{Text: text}
		if err != nil {
			answer.Error = err.Error()
		}
		c.send(answer)
	default:
		yes, err := g.answerSimple(r)
		answer := reply{Yes: yes}
		if err != nil {
			answer.Error = err.Error()
		}
		c.send(answer)
	}
}

// answerSimple handles the requests that have a single reply.
func (g *guestInit) answerSimple(r request) (yes bool, err error) {
	self := &Host{Pid: 1} // this machine, so that the same functions work inside
	switch r.Verb {
	case verbReady:
		return true, nil
	case verbListens:
		return self.listens(uint16(r.Number)), nil
	case verbStart:
		return true, g.startProgram(*r.Program)
	case verbSignal:
		return true, g.signalProgram(r.Name, unix.Signal(r.Number))
	case verbStop:
		if r.All {
			return true, self.stopAll()
		}
		if g.pid(agentProgram) == 0 {
			return false, errNoAgent
		}
		return true, g.signalProgram(agentProgram, unix.SIGSTOP)
	case verbResume:
		self.resumeAll()
		return true, nil
	case verbMTU:
		return true, setOwnMTU(r.Name, r.Number)
	}
	return false, fmt.Errorf("the machine does not know %q", r.Verb)
}

func (g *guestInit) startProgram(p program) error {
	g.mu.Lock()
	found := false
	for i := range g.asked {
		if g.asked[i].Name == p.Name {
			g.asked[i], found = p, true
		}
	}
	if !found {
		g.asked = append(g.asked, p)
	}
	g.mu.Unlock()
	g.startWanted()
	g.writeState()
	return nil
}

func (g *guestInit) pid(program string) int {
	g.supervisor.mu.Lock()
	defer g.supervisor.mu.Unlock()
	if at := g.all[program]; at != nil {
		return at.Pid
	}
	return 0
}

// signalProgram signals a program. It is no error if the program does not run.
func (g *guestInit) signalProgram(name string, s unix.Signal) error {
	return signalProcess(g.pid(name), s)
}

// dialInside connects the channel to a unix socket.
func dialInside(c *channel, path string) {
	to, err := net.Dial("unix", path)
	if err != nil {
		c.send(reply{Error: err.Error()})
		return
	}
	if c.send(reply{Yes: true}) != nil {
		to.Close()
		return
	}
	splice(c, newChannel(to))
}
