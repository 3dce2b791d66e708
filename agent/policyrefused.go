package agent

import (
	"sync/atomic"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/policy"
)

// refused is the log of what policies refuse. The kernel tells it of packets, of each sender so many a second. Which rule has refused one is
// asked of the policies and endpoints for which the firewall was made: package policy decides as the firewall does.
type refused struct {
	kernel PacketLogger
	log    *events.Log
	// packets is what the holder of policies.updating listens to; nil before the host has a policy.
	packets *kernel.PacketLog
	view    atomic.Pointer[enforced]
}

// enforced is what the firewall was made for.
type enforced struct {
	list    policy.Policies
	members []policy.Member
	ports   map[string]policy.Member
}

// Flows returns the log of what policies have refused lately. Its error says why the kernel tells nothing.
func (a *Agent) Flows() (*events.Log, error) {
	p := a.policies
	if len(p.all()) == 0 {
		return p.refused.log, nil
	}
	p.updating.Lock()
	defer p.updating.Unlock()
	return p.refused.log, p.refused.listen()
}

// listen begins to listen, if that is not so yet or has failed.
func (r *refused) listen() (err error) {
	if r.packets != nil {
		if r.packets.Err() == nil {
			return nil
		}
		r.close()
	}
	r.packets, err = r.kernel.LogPackets(firewall.RefusedGroup, firewall.RefusedBytes, r.tell)
	return err
}

func (r *refused) close() error {
	if r.packets == nil {
		return nil
	}
	l := r.packets
	r.packets = nil
	return l.Close()
}

// set is called with what the firewall is made for.
func (r *refused) set(list policy.Policies, members []policy.Member) {
	ports := make(map[string]policy.Member, len(members))
	for _, m := range members {
		if m.Port != "" {
			ports[m.Port] = m
		}
	}
	r.view.Store(&enforced{list, members, ports})
}

// tell notes a packet that was refused.
func (r *refused) tell(p kernel.LoggedPacket) {
	direction, port := policy.Ingress, p.To
	if p.Prefix == firewall.RefusedOut {
		direction, port = policy.Egress, p.From
	}
	v := r.view.Load()
	m, known := v.ports[port]
	if !known {
		return // it has gone
	}
	f := v.list.Refused(v.members, m, direction, p.Ether, p.Data)
	r.log.Add(events.Event{Kind: events.Flow, Action: events.Refused, Object: m.ID.String(), Network: m.Network, Labels: m.Labels, Flow: &f})
}

// listen begins to listen. Without a log, policies are enforced all the same.
func (p *policies) listen() {
	if err := p.refused.listen(); err != nil {
		p.log.Warn("what policies refuse is not seen", "error", heddle.SentenceOf(err))
	}
}
