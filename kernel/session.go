package kernel

import (
	"errors"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// session is one of the two namespaces that a call works in, with what the call has read from it.
type session struct {
	ns      *Netns
	rt, nft *conn
	pod     bool
	held    []heldFolder
	idle    chan *conn
	index   map[string]int
	// listed are the interfaces as they were when the call first asked for them; nil before.
	listed []linkState
}

func (k *Kernel) hostSession() *session {
	return &session{ns: k.home, rt: k.rt, nft: k.nft, held: k.held, idle: k.idle, index: map[string]int{}}
}

// listing is hostSite with the sockets for listings.
func (k *Kernel) listing() *session {
	return &session{ns: k.home, rt: k.listRt, nft: k.listNft, held: k.held, index: map[string]int{}}
}

// openPod returns the namespace of a handle, and a session in it; nil for no handle.
func openPod(pod Pod) (*Netns, *session, error) {
	n, err := netnsOf(pod)
	if err != nil {
		return nil, nil, err
	}
	s, err := podSession(n)
	return n, s, err
}

// podSession opens a socket inside the container's namespace; nil gives nil.
func podSession(pod *Netns) (*session, error) {
	if pod == nil {
		return nil, nil
	}
	s := &session{ns: pod, pod: true, index: map[string]int{}}
	err := pod.Do(func() (err error) {
		s.rt, err = dial(unix.NETLINK_ROUTE)
		return err
	})
	if err != nil {
		return nil, heddle.Wrap(heddle.BadNamespace, "open network namespace", pod.path, err, namespaceRemedy)
	}
	return s, nil
}

func (s *session) close() {
	if s != nil && s.pod {
		s.rt.close()
	}
}

// ifindex resolves an interface's name. It asks by ioctl (netdevice(7)), which
// costs a microsecond where RTM_GETLINK costs twenty.
func (s *session) ifindex(name string) (int, error) {
	if i, known := s.index[name]; known {
		return i, nil
	}
	r, err := unix.NewIfreq(name)
	if err != nil {
		return 0, err
	}
	if err := unix.IoctlIfreq(s.rt.fd, unix.SIOCGIFINDEX, r); err != nil {
		return 0, err
	}
	i := int(r.Uint32())
	s.index[name] = i
	return i, nil
}

// ifname resolves an interface's index, by ioctl too.
func (s *session) ifname(index int) (string, error) {
	r, err := unix.NewIfreq("")
	if err != nil {
		return "", err
	}
	r.SetUint32(uint32(index))
	err = unix.IoctlIfreq(s.rt.fd, unix.SIOCGIFNAME, r)
	return r.Name(), err
}

// delete deletes an interface. Before it answers, and after it has released its lock, the kernel
// waits until nobody can be using the interface any more (rcu_barrier in netdev_run_todo). That
// takes 20 ms or more, and would block all users of a shared socket. Concurrent waits take no
// longer than one.
func (s *session) delete(index int) error {
	if s.idle == nil {
		return s.rt.execute(deleteLink(index))
	}
	c := <-s.idle
	defer func() { s.idle <- c }()
	return c.execute(deleteLink(index))
}

// isUp reads the interface's administrative state.
func (s *session) isUp(name string) (bool, error) {
	r, err := unix.NewIfreq(name)
	if err != nil {
		return false, err
	}
	if err := unix.IoctlIfreq(s.rt.fd, unix.SIOCGIFFLAGS, r); err != nil {
		return false, err
	}
	return r.Uint16()&unix.IFF_UP != 0, nil
}

// absent reports whether an error says that the object, or what it depends on, is not there. For a
// removal that is success.
func absent(err error) bool {
	for _, e := range []unix.Errno{unix.ENOENT, unix.ENODEV, unix.ESRCH, unix.ENXIO, unix.EADDRNOTAVAIL} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func exists(err error) bool { return errors.Is(err, unix.EEXIST) }

func ignoreExists(err error) error {
	if exists(err) {
		return nil
	}
	return err
}
