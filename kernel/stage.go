package kernel

import (
	"errors"
	"fmt"
	"net"
	"runtime"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Stage is a temporary host with one container: two network namespaces that nobody else sees and
// that Close removes. Plans are tried there to find out whether this kernel supports them.
type Stage struct {
	host, pod *Netns
	k         *Kernel
}

// NewStage makes the two namespaces. They have no names, so they do not outlive a crash.
func NewStage() (*Stage, error) {
	s := &Stage{}
	err := s.open()
	if err != nil {
		s.Close()
		return nil, heddle.Wrap(heddle.NotOnKernel, "make", "a network namespace", err,
			"give the agent CAP_SYS_ADMIN, and raise /proc/sys/user/max_net_namespaces if it is reached")
	}
	return s, nil
}

func (s *Stage) open() (err error) {
	if s.host, err = unshareNetns(); err != nil {
		return err
	}
	if s.pod, err = unshareNetns(); err != nil {
		return err
	}
	return s.host.Do(func() error {
		if s.k, err = Open(); err == nil {
			s.k.Recast = bpf.Trial
		}
		return err
	})
}

// Snapshot is Kernel.Snapshot of one of the stage's interfaces.
func (s *Stage) Snapshot(name string) (heddle.NIC, error) { return s.k.Snapshot(name) }

// Close removes the stage.
func (s *Stage) Close() {
	if s.k != nil {
		s.k.Close()
	}
	for _, n := range []*Netns{s.host, s.pod} {
		if n != nil {
			n.Close()
		}
	}
}

// unshareNetns makes a namespace that lives as long as it is open. The thread then
// returns to its earlier namespace: the process's first thread cannot end, and if it
// stayed, /proc/self would name the new namespace for good.
func unshareNetns() (n *Netns, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		n, err = unshareHere()
	}()
	<-done
	return n, err
}

func unshareHere() (*Netns, error) {
	runtime.LockOSThread()
	home, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			unix.Close(home)
		}
	}
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	defer leave(home)
	n, err := OpenNetns("/proc/thread-self/ns/net")
	if err == nil {
		n.path = "(throw-away)"
	}
	return n, err
}

// Wire gives the stage's host an interface, up, with the addresses and with a
// default route via each next hop.
func (s *Stage) Wire(name string, addrs, hops []string) error {
	h, err := s.host.handle()
	if err != nil {
		return refused("make interface", name, err)
	}
	defer h.Close()
	link, err := wire(h, name)
	if err != nil {
		return refused("make interface", name, err)
	}
	return address(h, link, addrs, hops)
}

// address gives an interface addresses and default routes.
func address(h *netlink.Handle, link netlink.Link, addrs, hops []string) error {
	for _, text := range addrs {
		a, err := netlink.ParseAddr(text)
		if err != nil {
			return err
		}
		a.Flags = unix.IFA_F_NODAD
		// plans without IPv6 must work on a kernel without IPv6
		if err := h.AddrAdd(link, a); err != nil && a.IP.To4() != nil {
			return refused("add address", text, err)
		}
	}
	for _, text := range hops {
		hop := net.ParseIP(text)
		if err := h.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: hop}); err != nil && hop.To4() != nil {
			return refused("add the default route via", text, err)
		}
	}
	return nil
}

// wire makes an interface of the first kind that the kernel supports.
func wire(h *netlink.Handle, name string) (link netlink.Link, err error) {
	attrs, far := netlink.NewLinkAttrs(), name+"w"
	attrs.Name = name
	for _, link := range []netlink.Link{
		&netlink.Veth{LinkAttrs: attrs, PeerName: far}, &netlink.Dummy{LinkAttrs: attrs}, &netlink.Bridge{LinkAttrs: attrs},
	} {
		if err = h.LinkAdd(link); err != nil {
			continue
		}
		if peer, e := h.LinkByName(far); e == nil {
			err = h.LinkSetUp(peer)
		}
		if err = errors.Join(err, h.LinkSetUp(link)); err != nil {
			return nil, err
		}
		return h.LinkByName(name)
	}
	return nil, err
}

// Facts are the facts of the stage's host.
func (s *Stage) Facts() (heddle.HostFacts, error) { return s.k.Facts() }

// Try makes the plans one after the other, checks that all objects are as
// planned, and removes them again.
func (s *Stage) Try(plans ...heddle.Plan) error {
	if err := s.Make(plans...); err != nil {
		return err
	}
	return s.Strike(plans...)
}

// Make makes the plans one after the other.
func (s *Stage) Make(plans ...heddle.Plan) error {
	for _, p := range plans {
		if _, err := s.k.Apply(p, s.pod); err != nil {
			return err
		}
	}
	return nil
}

// Strike checks that all objects are as planned, and removes the plans again.
func (s *Stage) Strike(plans ...heddle.Plan) error {
	for i := len(plans) - 1; i >= 0; i-- {
		drift, err := s.k.Diff(plans[i], s.pod)
		if err == nil && len(drift) > 0 {
			err = fmt.Errorf("the kernel took it and has something else: %s", drift[0])
		}
		if err != nil {
			return refused("compare", "a throw-away host", err)
		}
	}
	for i := len(plans) - 1; i >= 0; i-- {
		keep := map[string]bool{}
		for _, p := range plans[:i] {
			for _, o := range p.Host.Objects() {
				keep[o.Key()] = true
			}
		}
		if err := s.k.Remove(plans[i], s.pod, func(key string) bool { return keep[key] }); err != nil {
			return err
		}
	}
	return nil
}
