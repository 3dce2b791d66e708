package agent

import (
	"cmp"
	"context"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/path"
	"github.com/heddle-network/heddle/peer"
)

// The self-test of checksums runs when a peer appears. It runs again if it proved nothing: the
// peer may not have made its tunnel yet.
const (
	checksumEvery = 5 * time.Second
	checksumAgain = 10 * time.Minute // the longest pause after a test that proved nothing
)

// verdict is the result of the self-test for one peer.
type verdict struct {
	peer.Verdict
	wait time.Duration
	next time.Time
}

func (p *peerPaths) verdict(id string) peer.Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cmp.Or(p.checksums[id].Verdict, peer.Unproven)
}

// testChecksums tests the path to each peer that answers, until ctx ends.
func (w *peerPaths) testChecksums(ctx context.Context) {
	tick := time.NewTicker(checksumEvery)
	defer tick.Stop()
	for {
		for _, h := range w.cluster.View().Peers {
			if ctx.Err() == nil && w.Paths()[h.ID].State == peer.Up && w.untested(h.ID) {
				w.testChecksum(ctx, h)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (p *peerPaths) untested(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.checksums[id]
	return v.Verdict != peer.Good && !time.Now().Before(v.next)
}

func (w *peerPaths) testChecksum(ctx context.Context, h heddle.Host) {
	f := w.host.now().Fabric
	family, ok := heddle.Path(f.Self, h)
	if !ok {
		return
	}
	probe, ok := path.Of(f).Probe(f, h, family)
	if !ok {
		return
	}
	found, err := peer.TestChecksums(ctx, probe.Device, probe.Self, probe.Peer)
	if err != nil {
		w.log.Debug("checksums not tested", "peer", h.Name, "error", err)
	}
	p := w
	p.mu.Lock()
	v := p.checksums[h.ID]
	v.Verdict, v.wait = found, min(checksumAgain, max(checksumEvery, 2*v.wait))
	v.next = time.Now().Add(v.wait)
	p.checksums[h.ID] = v
	spoiled := found == peer.Spoiled && !p.found.SoftChecksums
	if spoiled {
		p.found.SoftChecksums, err = true, p.saveLocked()
	}
	p.mu.Unlock()
	if !spoiled {
		return
	}
	w.log.Warn("checksums of packets in tunnels arrive spoiled: they are computed in software from now on", "peer", h.Name, "kept", err == nil)
	w.onSpoiled()
	p.mu.Lock()
	clear(p.checksums) // test all paths again
	p.mu.Unlock()
}
