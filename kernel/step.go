package kernel

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// trip calls the tripwire, if there is one.
func (k *Kernel) trip(verb, key string) error {
	if k.Tripwire == nil {
		return nil
	}
	if err := k.Tripwire(verb + " " + key); err != nil {
		return heddle.Wrap(heddle.KernelRefused, verb, key, err, "")
	}
	return nil
}

// refused makes a coded error of an error of the kernel. A missing setting means that the
// kernel lacks the feature. EACCES for an address or a route does not mean that the agent
// lacks rights: IPv6 is off on the interface (inet6_addr_add, ip6_route_info_create).
func refused(verb, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EACCES) && (strings.HasPrefix(key, "address/") || strings.HasPrefix(key, "route/")):
		return heddle.Wrap(heddle.KernelRefused, verb, key, fmt.Errorf("IPv6 is off there (disable_ipv6): %w", err),
			"see 'heddle doctor', or create the network with IPv4 subnets only")
	case errors.Is(err, os.ErrPermission):
		return heddle.Wrap(heddle.NoPermission, verb, key, err, "give the agent CAP_NET_ADMIN and CAP_SYS_ADMIN")
	case strings.HasPrefix(key, "sysctl/") && errors.Is(err, os.ErrNotExist):
		return heddle.Wrap(heddle.NotOnKernel, verb, key, err, "use a kernel that has this setting")
	}
	return heddle.Wrap(heddle.KernelRefused, verb, key, err, "see 'heddle check', which compares the plan with the kernel")
}

// undo reverts one change.
type undo struct {
	key string
	do  func() error
}

// step does one thing that may change the kernel.
func (a *attempt) step(verb, key string, do func() error) error {
	if err := a.k.trip(verb, key); err != nil {
		return err
	}
	err := refused(verb, key, do())
	if err != nil && a.lenient && key != firewallKey {
		a.failed, err = append(a.failed, err), nil
	}
	return err
}

// recordUndo records that an object was made or changed, and how to revert it.
func (a *attempt) recordUndo(key string, back func() error) {
	if !a.noted[key] {
		a.noted[key] = true
		a.made = append(a.made, key)
	}
	a.undo = append(a.undo, undo{key, back})
}

// recordCreated is recordUndo for a new object. The undo removes the object, unless another
// plan wants it by then.
func (a *attempt) recordCreated(s *session, key string, remove func() error) {
	a.recordUndo(key, func() error {
		if !s.pod && a.k.shared(key) {
			return nil
		}
		return remove()
	})
}

// rollback reverts the changes in reverse order. An object that is gone already, with
// its interface or its namespace, needs no undo.
func (a *attempt) rollback(cause error) error {
	var left []string
	var last error
	for _, u := range slices.Backward(a.undo) {
		if err := u.do(); err != nil && !absent(err) && !errors.Is(err, os.ErrNotExist) {
			left, last = append(left, u.key), err
		}
	}
	if left == nil {
		return cause
	}
	return heddle.Errorf(heddle.UndoFailed, "undo", strings.Join(left, ", "),
		heddle.CauseOf(last)+" (after "+heddle.SentenceOf(cause)+")", heddle.FirstRemedy(cause, "remove what is left with 'heddle gc'"))
}
