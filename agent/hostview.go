package agent

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
)

// hostView is what is known about the host: what the kernel reports, and what the cluster
// says about it and its peers.
type hostView struct {
	kernel HostReader
	// viewAgain is signalled when the paths to other hosts have to follow a change.
	viewAgain chan struct{}

	mu    rwMutex[atHost]
	facts heddle.HostFacts
	// begun counts the reads of the host's facts. seen is the number of the read that the present
	// facts come from.
	begun, seen uint64
	// unmasqueraded are the host's listening sockets whose ports no masqueraded connection uses.
	unmasqueraded []heddle.Socket
	// unfitPeers are hosts of the cluster that cannot be this one's peers.
	unfitPeers []cluster.Refusal
}

// openHostView reads the host's facts for the first time. The host has the given name, if any;
// resolves says that it answers containers' questions for names.
func openHostView(k HostReader, name string, resolves bool, viewAgain chan struct{}) (*hostView, error) {
	facts, err := k.Facts()
	facts.Resolves = resolves
	if name != "" {
		facts.Name = name
	}
	return &hostView{kernel: k, viewAgain: viewAgain, facts: facts, unmasqueraded: facts.Listening}, err
}

// now returns what is known about the host.
func (h *hostView) now() heddle.HostFacts {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.facts
}

// refresh reads the host's facts again. If the traffic that IPsec protects has changed, it asks
// for an update of the paths to other hosts at once. Reads may overlap: the result of one that
// began earlier does not replace that of a later one.
func (h *hostView) refresh() error {
	h.mu.Lock()
	h.begun++
	this := h.begun
	h.mu.Unlock()
	facts, err := h.kernel.Facts()
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if this < h.seen {
		return nil
	}
	h.seen = this
	facts.Name, facts.Resolves, facts.Fabric = h.facts.Name, h.facts.Resolves, h.facts.Fabric
	if !slices.Equal(h.facts.Secured, facts.Secured) {
		signal(h.viewAgain)
	}
	h.facts = facts
	return nil
}

// setFabric makes the host's place in the cluster part of its facts.
func (h *hostView) setFabric(f *heddle.Fabric, unfit []cluster.Refusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.facts.Fabric, h.unfitPeers = f, unfit
}

// listUnfitPeers returns the hosts of the cluster that cannot be peers of this one, and why.
func (h *hostView) listUnfitPeers() []cluster.Refusal {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return slices.Clone(h.unfitPeers)
}

// newlyListening returns the sockets among now whose ports masqueraded connections may still use.
// If there are none, no masqueraded connection uses the ports of now.
func (h *hostView) newlyListening(now []heddle.Socket) []heddle.Socket {
	h.mu.Lock()
	defer h.mu.Unlock()
	newly := slices.DeleteFunc(slices.Clone(now), func(s heddle.Socket) bool { return slices.Contains(h.unmasqueraded, s) })
	if len(newly) == 0 {
		h.unmasqueraded = now
	}
	return newly
}

// setUnmasqueraded notes that no masqueraded connection uses the sockets' ports.
func (h *hostView) setUnmasqueraded(now []heddle.Socket) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unmasqueraded = now
}

// unclaimed counts the addresses of a subnet that are in no host's block.
func unclaimed(h heddle.HostFacts, n *network, subnet netip.Prefix) uint64 {
	if !n.Shared || h.Fabric == nil {
		return 0
	}
	bits := heddle.BlockBits(subnet)
	free := uint64(1) << min(32, bits-subnet.Bits())
	for _, b := range h.Fabric.Blocks {
		if b.Network == n.ID && subnet.Contains(b.Prefix.Addr()) && free > 0 {
			free--
		}
	}
	return free << min(31, subnet.Addr().BitLen()-bits)
}
