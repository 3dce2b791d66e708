package kernel

import (
	"errors"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bpf"
)

// reopenDelay is how long after a failure the fast path is opened again. The kernel may have been
// out of memory.
const reopenDelay = time.Minute

// fastPath is the programs and maps of a handle. They are opened when the first plan wants them.
type fastPath struct {
	mu   sync.Mutex
	fast *bpf.Fast
	// err is why there is no fast path. It is cleared at the next try; the error of a fast path
	// that is switched off stays.
	err   error
	off   bool
	again time.Time
	// stale says that programs of an earlier run are still attached although the fast path is not
	// open. Nobody would update their maps any more.
	stale bool
	// stuck is why these programs could not be detached.
	stuck error
}

// SwitchOffFastPath detaches the programs from all interfaces, and their maps go with them. From
// then on the fast-path objects of plans are ignored.
func (k *Kernel) SwitchOffFastPath() error {
	k.fast.mu.Lock()
	defer k.fast.mu.Unlock()
	k.fast.off = true
	k.fast.err = heddle.Errorf(heddle.NotOnKernel, "open", "the fast path", "it is switched off", "start heddled without --fast-path off")
	return refused("switch off", "the fast path", k.takeOff())
}

// takeOff detaches the programs from all interfaces.
func (k *Kernel) takeOff() error {
	s := k.listing()
	links, err := s.links()
	for _, l := range links {
		switch {
		case err != nil:
		case !l.ours():
			err = s.detachUnderlayProgram(l.index)
		case l.kind == "veth":
			if id, e := s.attachedProgram(l.index); e == nil && id != 0 {
				err = s.detachProgram(l.index)
			}
		}
	}
	return err
}

// takeStaleOff detaches the programs of a fast path that could not be opened.
func (k *Kernel) takeStaleOff() {
	k.fast.mu.Lock()
	defer k.fast.mu.Unlock()
	if !k.fast.stale {
		return
	}
	if err := k.takeOff(); err != nil {
		k.fast.stuck = refused("take off", "the fast path", err)
		return
	}
	k.fast.stuck = nil
	k.fast.stale = false
}

// fastPath opens the fast path if it is not open yet. The error says why there is none.
func (k *Kernel) fastPath() (*bpf.Fast, error) { return k.openFastPath(k.listing()) }

func (k *Kernel) openFastPath(s *session) (*bpf.Fast, error) {
	k.fast.mu.Lock()
	defer k.fast.mu.Unlock()
	if k.fast.fast != nil || k.fast.off || time.Now().Before(k.fast.again) {
		return k.fast.fast, k.fast.why()
	}
	ids, err := s.programs()
	k.fast.err, k.fast.stuck, k.fast.stale = nil, nil, err != nil || len(ids) > 0
	if err == nil {
		k.fast.fast, err = bpf.Open(ids, k.Recast)
	}
	if err == nil {
		k.fast.stale = false
	} else {
		k.fast.again = time.Now().Add(reopenDelay)
		k.fast.err = heddle.Wrap(heddle.NotOnKernel, "open", "the fast path", err,
			"give the agent CAP_BPF on a kernel with BPF (CONFIG_BPF_SYSCALL, CONFIG_NET_CLS_BPF); until then packets take the host's stack")
	}
	return k.fast.fast, k.fast.why()
}

// why says why there is no fast path.
func (f *fastPath) why() error {
	if f.stuck != nil {
		return errors.Join(f.err, f.stuck)
	}
	return f.err
}

// programs finds the programs of an earlier run: that of the underlay, and that of one port. All
// ports share the same maps.
func (s *session) programs() ([]ebpf.ProgramID, error) {
	links, err := s.linksButPorts()
	if err != nil {
		return nil, err
	}
	var ids []ebpf.ProgramID
	for _, l := range links {
		if l.ours() {
			continue
		}
		if id, _, err := s.underlayProgram(l.index); err == nil && id != 0 {
			ids = append(ids, id)
		}
	}
	names, err := s.ns.linkNames()
	for _, name := range names {
		if id := s.portProgram(name); id != 0 {
			return append(ids, id), nil
		}
	}
	return ids, err
}

// portProgram is the program on a port of ours; 0 if there is none, or the name is not that of a port.
func (s *session) portProgram(name string) ebpf.ProgramID {
	if !heddle.IsPortName(name) {
		return 0
	}
	index, err := s.ifindex(name)
	if err != nil {
		return 0
	}
	id, err := s.attachedProgram(index)
	if err != nil || id == 0 {
		return 0
	}
	if l, err := s.linkAt(index); err != nil || l == nil || !l.ours() || l.kind != "veth" {
		return 0
	}
	return id
}

// feasible leaves out of a plan what this kernel does not support and the plan can do without.
func (k *Kernel) feasible(s *session, p heddle.Plan) heddle.Plan {
	p = withoutIPv6(p)
	if !usesFastPath(p.Host) {
		return p
	}
	if _, err := k.openFastPath(s); err != nil {
		k.takeStaleOff()
		p.Host.Programs, p.Host.Shortcuts, p.Host.Remotes = nil, nil, nil
	}
	return p
}

func usesFastPath(s heddle.State) bool {
	return len(s.Programs)+len(s.Shortcuts)+len(s.Remotes) > 0
}

// fastAtWork returns the fast path if it has entries or attached programs, otherwise nil.
func (k *Kernel) fastAtWork(s *session) (*bpf.Fast, error) {
	k.fast.mu.Lock()
	open, off := k.fast.fast, k.fast.off
	k.fast.mu.Unlock()
	if open != nil && !off {
		return open, nil
	}
	if ids, err := s.programs(); err != nil || len(ids) == 0 {
		return nil, err
	}
	f, err := k.openFastPath(s)
	if err != nil {
		return nil, nil // none on this kernel
	}
	return f, nil
}

// FastCounts returns the counters of the container behind a host end.
func (k *Kernel) FastCounts(port string) (heddle.FastCounts, error) {
	f, err := k.fastPath()
	if err != nil {
		return heddle.FastCounts{}, err
	}
	index, err := k.listing().ifindex(port)
	if err != nil {
		return heddle.FastCounts{}, refused("find", "link/"+port, err)
	}
	c, err := f.Counts(index)
	return c, refused("read", "counters of the fast path", err)
}

// FastTotals sums up the counters of all endpoints, and those that belong to no endpoint.
func (k *Kernel) FastTotals() (heddle.FastCounts, error) {
	f, err := k.fastPath()
	if err != nil {
		return heddle.FastCounts{}, err
	}
	c, err := f.Totals()
	return c, refused("read", "counters of the fast path", err)
}

// fastOn returns the fast path and the index of an interface of the host; the index is 0 if there
// is no such interface.
func (a *attempt) fastOn(link string) (*bpf.Fast, int, error) {
	f, err := a.k.fastPath()
	if err != nil || link == "" {
		return f, 0, err
	}
	index, err := a.host.ifindex(link)
	return f, index, err
}

// fast compares the plan with what the fast path holds.
func (d *differ) fast(compare func(*bpf.Fast) error) error {
	f, err := d.k.fastPath()
	if err == nil {
		err = refused("compare", "the fast path", compare(f))
	}
	return err
}

func (d *differ) note(o heddle.Object, there, same bool, err error) error {
	switch {
	case err != nil:
		return err
	case !there:
		return d.missing(o)
	case !same:
		return d.differs(o, "the fast path knows it in another way")
	}
	return nil
}
