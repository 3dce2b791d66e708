package agent

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// againAfterFlush changes something in the kernel. If that fails because somebody has just flushed the firewall, what changes build on is put
// back, as of these networks, and it is done again: who asks for it need not wait for the patrol.
func (a *Agent) againAfterFlush(networks []heddle.Network, change func() error) error {
	err := change()
	if !errors.Is(err, unix.ENOENT) {
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
