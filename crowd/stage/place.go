package stage

import (
	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/socket"
	"github.com/heddle-network/heddle/door/client"
)

// Host is where users and services are. It is on this machine.
type Host struct {
	Agent *client.Client
	// Mounts is the host's mount namespace, in which its agent finds network namespaces; "" is that of this program.
	Mounts string
}

// place is a host, and what holds the namespaces there.
type place struct {
	agent  *client.Client
	holder *socket.Holder
}

// hold begins to hold namespaces on each host.
func (s *Stage) hold() error {
	for _, h := range s.options.Hosts {
		p := place{agent: h.Agent}
		var err error
		if h.Mounts == "" {
			p.holder, err = socket.NewHolder()
		} else {
			p.holder, err = socket.NewHolderIn(h.Mounts)
		}
		if err != nil {
			return heddle.Wrap(heddle.CrowdFailed, "make network namespaces for", "a crowd", err, "call as root")
		}
		s.places = append(s.places, p)
	}
	return nil
}

// place is that of a user or a service, counted from 0.
func (s *Stage) place(i int) place { return s.places[i%len(s.places)] }
