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

func (w *peerPaths) verdict(id string) peer.Verdict {
	w.mu.Lock()
	defer w.mu.Unlock()
	return cmp.Or(w.checksums[id].Verdict, peer.Unproven)
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

func (w *peerPaths) untested(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := w.checksums[id]
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
	w.mu.Lock()
	v := w.checksums[h.ID]
	v.Verdict, v.wait = found, min(checksumAgain, max(checksumEvery, 2*v.wait))
	v.next = time.Now().Add(v.wait)
	w.checksums[h.ID] = v
	spoiled := found == peer.Spoiled && !w.findings.SoftChecksums
	if spoiled {
		w.findings.SoftChecksums, err = true, w.saveLocked()
	}
	w.mu.Unlock()
	if !spoiled {
		return
	}
	w.log.Warn("checksums of packets in tunnels arrive spoiled: they are computed in software from now on",
		"peer", h.Name, "kept", err == nil)
	w.onSpoiled()
	w.mu.Lock()
	clear(w.checksums) // test all paths again
	w.mu.Unlock()
}
