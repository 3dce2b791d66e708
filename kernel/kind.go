package kernel

import "github.com/heddle-network/heddle"

// kind is how objects of one kind are made, compared, removed and read back. Each kind has a file
// of its own; heddle.ObjectKinds gives their order.
type kind interface {
	// make makes the missing objects, and corrects those of ours that differ.
	make(a *attempt, s *session, want *heddle.State) error
	// compare records the objects that are not as wanted. The kernel's objects are read once as a
	// list, however many are wanted.
	compare(d *differ, want *heddle.State) error
	// remove removes the objects in reverse order. The session is nil if the container's namespace
	// is gone.
	remove(r *removal, s *session, gone *heddle.State)
	// own finds the host's objects that bear our mark.
	own(v *inventory) error
}

// kinds are the kinds by the names of their lists.
var kinds = map[string]kind{
	"firewall":   firewallKind{},
	"links":      linkKind{},
	"nics":       nicKind{},
	"sysctls":    sysctlKind{},
	"elements":   elementKind{},
	"buckets":    bucketKind{},
	"diverts":    divertKind{},
	"forwards":   forwardKind{},
	"addresses":  addressKind{},
	"neighbours": neighbourKind{},
	"routes":     routeKind{},
	"rules":      ruleKind{},
	"proxies":    proxyKind{},
	"redirects":  redirectKind{},
	"remotes":    remoteKind{},
	"shortcuts":  shortcutKind{},
	"programs":   programKind{},
}

// unmarked is for objects that bear no mark of ours: they are removed with our interfaces.
type unmarked struct{}

func (unmarked) own(*inventory) error { return nil }

func each[T any](all []T, do func(T) error) error {
	for _, x := range all {
		if err := do(x); err != nil {
			return err
		}
	}
	return nil
}
