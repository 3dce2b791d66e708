package fake

import (
	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// pod is a handle on a container's namespace.
type pod struct{ *namespace }

func (p pod) Inode() uint64           { return p.number }
func (p pod) Cookie() (uint64, error) { return p.number, nil }
func (p pod) Close()                  {}
func (p pod) Inhabited() bool         { return !p.gone.Load() }

// Is compares the inode number; a cookie of 0 is not compared.
func (p pod) Is(inode, cookie uint64) bool {
	return p.number == inode && (cookie == 0 || cookie == p.number)
}

// Hold is not faked: it is for NICs.
func (p pod) Hold(path string) error { return unknown("hold", path) }

// Shelve is not faked: it is for engines that move links.
func (p pod) Shelve(*kernel.Seen, string) error { return unknown("shelve", p.path) }

func (p pod) Find(alias string) (*kernel.Seen, error) {
	return p.seek(func(l *link) bool { return l.Alias == alias })
}

func (p pod) FindIndex(index int) (*kernel.Seen, error) {
	return p.seek(func(l *link) bool { return l.number == index })
}

func (p pod) seek(is func(*link) bool) (*kernel.Seen, error) {
	p.host.mu.Lock()
	defer p.host.mu.Unlock()
	for _, l := range p.links {
		if is(l) {
			return &kernel.Seen{Name: l.Name, MAC: l.MAC, Up: l.up, Index: l.number}, nil
		}
	}
	return nil, nil
}

// OpenPod opens the namespace at a path.
func (k *Kernel) OpenPod(path string) (kernel.Pod, error) {
	k.host.mu.Lock()
	defer k.host.mu.Unlock()
	s, err := k.host.at(path)
	if err != nil {
		return nil, err
	}
	return pod{s}, nil
}

// FindPod finds a living namespace by its inode number; nil if there is none.
func (k *Kernel) FindPod(inode, cookie uint64) (kernel.Pod, error) {
	k.host.mu.Lock()
	defer k.host.mu.Unlock()
	for _, s := range k.host.pods {
		if (pod{s}).Is(inode, cookie) {
			return pod{s}, nil
		}
	}
	return nil, nil
}

// DupPod is another handle on a namespace.
func (k *Kernel) DupPod(p kernel.Pod) (kernel.Pod, error) { return p, nil }

// IsOwn reports whether it is the host's own namespace, which has no path here.
func (k *Kernel) IsOwn(kernel.Pod) bool { return false }

// namespaceOf is the namespace of a handle; nil for no handle, or if the namespace has ended.
func (k *Kernel) namespaceOf(p kernel.Pod) (*namespace, error) {
	switch p := p.(type) {
	case nil:
		return nil, nil
	case pod:
		if p.gone.Load() {
			return nil, heddle.Errorf(heddle.BadNamespace, "enter network namespace", p.path, "the container has ended", "start it again")
		}
		return p.namespace, nil
	}
	return nil, heddle.Errorf(heddle.BadNamespace, "enter network namespace", "", "another kernel made the handle", "open the namespace with this kernel")
}

func unknown(op, object string) error {
	return heddle.Errorf(heddle.NotOnKernel, op, object, "the kernel in memory does not know it", "test it with a real kernel")
}
