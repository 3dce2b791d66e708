package agent

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// lacksBase reports whether something failed since what it builds on is not there: somebody has just flushed the firewall, or deleted a bridge.
func lacksBase(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) }

// againAfterFlush changes something in the kernel. If that fails because what it builds on is gone, that is put back, as of these networks, and it
// is done again: who asks for it need not wait for the patrol.
func (a *Agent) againAfterFlush(networks []heddle.Network, change func() error) error {
	err := change()
	if !lacksBase(err) {
		return err
	}
	m := a.repairer
	m.repairPolicies()
	for _, n := range networks {
		m.repairNetwork(n.ID)
	}
	m.repairHAVIPs()
	m.repairRoutes()
	signal(a.compareSoon) // the rest is gone, too
	return change()
}
