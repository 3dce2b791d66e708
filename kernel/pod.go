package kernel

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

// Pod is a handle on a container's network namespace, and keeps the namespace alive. *Netns is a
// Pod. Another kernel, such as that of package fake, has handles of its own.
type Pod interface {
	// Inode identifies the namespace as long as it lives, Cookie until the next boot.
	Inode() uint64
	Cookie() (uint64, error)
	// Is reports whether this is the namespace of that inode number and cookie.
	Is(inode, cookie uint64) bool
	// Hold keeps the namespace alive as a file, until Release.
	Hold(path string) error
	// Inhabited reports whether the namespace has a process.
	Inhabited() bool
	// Find and FindIndex look for interfaces; Shelve takes one out of use.
	Find(alias string) (*Seen, error)
	FindIndex(index int) (*Seen, error)
	Shelve(seen *Seen, name string) error
	Close()
}

// netnsOf converts a handle to the type of this kernel; nil for no handle.
func netnsOf(pod Pod) (*Netns, error) {
	switch n := pod.(type) {
	case nil:
		return nil, nil
	case *Netns:
		return n, nil
	}
	return nil, heddle.Errorf(heddle.BadNamespace, "enter network namespace", fmt.Sprintf("net:[%d]", pod.Inode()), "another kernel made the handle",
		"open the namespace with this kernel")
}

// podOf converts a handle to the interface type; no handle gives a nil interface.
func podOf(n *Netns, err error) (Pod, error) {
	if n == nil {
		return nil, err
	}
	return n, err
}

// OpenPod is OpenNetns and FindPod is FindNetns; DupPod returns another handle on a namespace.
func (k *Kernel) OpenPod(path string) (Pod, error) { return podOf(OpenNetns(path)) }

func (k *Kernel) FindPod(inode, cookie uint64) (Pod, error) { return podOf(FindNetns(inode, cookie)) }

func (k *Kernel) DupPod(pod Pod) (Pod, error) {
	n, err := netnsOf(pod)
	if err != nil || n == nil {
		return nil, err
	}
	return podOf(n.Dup())
}

// IsOwn reports whether the namespace is the host's own.
func (k *Kernel) IsOwn(pod Pod) bool {
	n, _ := netnsOf(pod)
	return n != nil && k.home.Same(n)
}

// Release is the function Release.
func (k *Kernel) Release(path string) error { return Release(path) }
