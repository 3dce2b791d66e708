package agent

import (
	"errors"
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
	// try finds out whether this kernel can tell of packets.
	try func() error
	log *events.Log
	// again asks for a comparison with the plans, which begins to listen anew.
	again chan struct{}
	view  atomic.Pointer[enforced]
	// wrong is why nothing is told; nil if nothing is wrong.
	wrong atomic.Pointer[string]

	// The holder of policies.updating has these. Able says that the kernel can tell of packets, and that the firewall is to have it do so.
	// Packets is what is listened to: nil before the host has a policy. Nobody listens any more after the agent's end.
	able, closed bool
	packets      *kernel.PacketLog
}

func newRefused(k PacketLogger, try func() error, again chan struct{}) *refused {
	r := &refused{kernel: k, try: try, log: events.NewLog(), again: again}
	r.view.Store(&enforced{})
	return r
}

// enforced is what the firewall was made for.
type enforced struct {
	refusals *policy.Refusals
	ports    map[string]policy.Member
}

// Flows returns the log of what policies have refused lately. Its error says why the kernel tells nothing.
func (a *Agent) Flows() (*events.Log, error) {
	p := a.policies
	p.updating.Lock()
	defer p.updating.Unlock()
	return p.refused.log, p.hear()
}

// hear begins to listen, if there are policies. If the kernel has learnt to tell of packets meanwhile, the rules have it do so from now on.
func (p *policies) hear() error {
	if len(p.all()) == 0 {
		return nil
	}
	was := p.refused.able
	err := p.listen()
	if p.refused.able != was {
		wrong := p.apply(p.all(), p.members())
		if wrong != nil {
			p.unsettled.Store(true)
		}
		err = errors.Join(err, wrong)
	}
	return err
}

// listen begins to listen. Without a log, policies are enforced all the same.
func (p *policies) listen() error {
	err := p.refused.begin()
	if err != nil {
		if p.refused.isWrong(heddle.SentenceOf(err)) {
			p.log.Warn("what policies refuse is not seen", "error", heddle.SentenceOf(err))
		}
		return err
	}
	if p.refused.wrong.Swap(nil) != nil {
		p.refused.miss(0, "what is refused is seen again")
	}
	return nil
}

// refusedParts are the status of the log, if something is wrong with it.
func (p *policies) refusedParts() []heddle.PartStatus {
	why := p.refused.wrong.Load()
	if why == nil || len(p.all()) == 0 {
		return nil
	}
	return []heddle.PartStatus{{Name: "flows", State: "warn", Detail: "what policies refuse is not seen: " + *why}}
}

// close ends the log.
func (p *policies) close() error {
	p.updating.Lock()
	defer p.updating.Unlock()
	p.refused.closed = true
	return p.refused.stop()
}

// begin begins to listen, if that is not so yet or has ended.
func (r *refused) begin() (err error) {
	if r.closed || r.packets != nil && r.packets.Err() == nil {
		return nil
	}
	r.stop()
	if !r.able {
		if err := r.try(); err != nil {
			return heddle.Errorf(heddle.NotOnKernel, "listen to", "what policies refuse", "the kernel cannot tell of packets: "+heddle.SentenceOf(err),
				"load what it lacks ('modprobe -a nft_log nfnetlink_log'), and call 'heddle flows' again; until then policies are enforced without being seen")
		}
		r.able = true
	}
	r.packets, err = r.kernel.LogPackets(firewall.RefusedGroup, firewall.RefusedBytes, r.tell, r.ended)
	return err
}

// stop ends listening.
func (r *refused) stop() error {
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
	r.view.Store(&enforced{policy.NewRefusals(list, members), ports})
}

// tell notes a packet that was refused.
func (r *refused) tell(p kernel.LoggedPacket) {
	if p.Lost > 0 {
		r.miss(p.Lost, "they came faster than the agent has read them")
	}
	direction, port := policy.Ingress, p.To
	if p.Prefix == firewall.RefusedOut {
		direction, port = policy.Egress, p.From
	}
	v := r.view.Load()
	m, known := v.ports[port]
	if !known || p.Prefix != firewall.RefusedOut && p.Prefix != firewall.RefusedIn {
		return // the port has gone, or somebody else's rule has told of the packet
	}
	f := v.refusals.Flow(m, direction, p.Ether, p.Data)
	r.log.Add(events.Event{Kind: events.Flow, Action: events.Refused, Object: m.ID.String(), Network: m.Network, Labels: m.Labels, Flow: &f})
}

// ended notes that the kernel tells nothing more, and has the patrol begin anew.
func (r *refused) ended(why error) {
	r.isWrong(why.Error())
	r.miss(0, "what is refused from now on is not seen: "+why.Error())
	signal(r.again)
}

// isWrong notes why nothing is told, and reports whether that is new.
func (r *refused) isWrong(why string) bool {
	was := r.wrong.Swap(&why)
	return was == nil || *was != why
}

// miss tells whoever reads the log of packets that are not in it; 0 is an unknown number.
func (r *refused) miss(packets uint32, why string) {
	r.log.Add(events.Event{Kind: events.Flow, Action: events.Missed, Missed: packets, Detail: why})
}
