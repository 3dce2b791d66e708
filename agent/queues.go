package agent

import "github.com/heddle-network/heddle"

// queuesOf looks at the queues of the NIC that an endpoint's container has; nil if it cannot be looked at, or a program drives it. The container may have put another interface in its
// place: nothing is concluded from them.
func (a *Agent) queuesOf(r record) []heddle.Queue {
	if r.Endpoint.NIC == nil || r.Endpoint.ProgramDrives() {
		return nil
	}
	pod, err := a.containers.openPod(r)
	if err != nil || pod == nil {
		return nil
	}
	defer pod.Close()
	all, err := a.kernel.Queues(pod, r.Endpoint.Interface())
	if err != nil {
		return nil
	}
	return all
}
