package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/path"
	"github.com/heddle-network/heddle/peer"
)

// peerPaths is what the host has found out about the paths to its peers. What the plans need of it
// is kept in the run folder, for the next start of the agent.
type peerPaths struct {
	*peer.Peers
	cluster cluster.API
	host    *hostView
	log     *slog.Logger
	file    string
	// onSpoiled is called when checksums were found to arrive corrupted.
	onSpoiled func()

	mu       mutex[atPeerPaths]
	findings pathFindings
	// checksums are the results of the self-test, by the peers' IDs.
	checksums map[string]verdict
}

// pathFindings are the findings that the plans need.
type pathFindings struct {
	MTU map[string]int `json:"mtu,omitempty"`
	// SoftChecksums stays on until the host reboots.
	SoftChecksums bool `json:"softChecksums,omitempty"`
}

// openPaths starts to probe the peers.
func (a *Agent) openPaths() {
	a.peerPaths = &peerPaths{cluster: a.opt.Cluster, host: a.host, log: a.log,
		file: filepath.Join(a.opt.RunDir, "paths.json"), checksums: map[string]verdict{}}
	if err := a.peerPaths.load(); err != nil {
		a.log.Warn("what was known about paths is not read", "file", a.peerPaths.file, "error", err)
	}
	v := a.opt.Cluster.View()
	a.peerPaths.Peers = peer.New(peer.Options{Self: v.Self, Log: a.log})
	a.peerPaths.Set(v.Peers)
	a.peerPaths.onSpoiled = func() {
		a.adoptView()
		a.hostPaths.update(nil)
		signal(a.viewAgain)
	}
}

func (w *peerPaths) load() error {
	text, err := os.ReadFile(w.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, &w.findings)
	}
	return err
}

// saveLocked replaces the file.
func (w *peerPaths) saveLocked() error {
	text, err := json.Marshal(w.findings)
	if err != nil {
		return err
	}
	next := w.file + ".next"
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return err
	}
	return os.Rename(next, w.file)
}

// addTo adds the findings about paths to the cluster's fabric.
func (w *peerPaths) addTo(f *heddle.Fabric) error {
	now := w.Paths()
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.findings.MTU
	w.findings.MTU = map[string]int{}
	for _, h := range f.Peers {
		if mtu := cmp.Or(now[h.ID].MTU, old[h.ID]); mtu > 0 {
			w.findings.MTU[h.ID] = mtu
		}
	}
	f.PathMTU, f.SoftChecksums = maps.Clone(w.findings.MTU), w.findings.SoftChecksums
	if maps.Equal(old, w.findings.MTU) {
		return nil
	}
	return w.saveLocked()
}

// Peers lists the other hosts of the cluster, by name; none without a cluster.
func (a *Agent) Peers() []heddle.PeerStatus {
	if a.opt.Cluster == nil {
		return nil
	}
	return a.peerPaths.status()
}

// status returns the status of the other hosts of the cluster, by name.
func (w *peerPaths) status() []heddle.PeerStatus {
	v := w.cluster.View()
	connected := v.Revision > 0 && w.cluster.Health().State != "down"
	now := w.Paths()
	var all []heddle.PeerStatus
	for _, h := range v.Peers {
		all = append(all, w.peerStatus(v, h, now[h.ID], connected))
	}
	slices.SortFunc(all, func(x, y heddle.PeerStatus) int { return cmp.Compare(x.Name, y.Name) })
	return all
}

func (w *peerPaths) peerStatus(v *cluster.View, h heddle.Host, p peer.Path, connected bool) heddle.PeerStatus {
	s := heddle.PeerStatus{Name: h.Name, ID: h.ID, Path: "none", State: string(cmp.Or(p.State, peer.Unknown)),
		Since:   p.Since,
		PathMTU: p.MTU, RTTSeconds: p.RTT.Seconds(), Checksums: string(w.verdict(h.ID)), Store: "away"}
	if f, ok := heddle.Path(v.Self, h); ok {
		s.Path = path.Of(&v.Fabric).Name()
		s.Underlay, _ = h.UnderlayFor(f)
	}
	for _, b := range v.Blocks {
		if b.Host == h.ID {
			s.Blocks++
		}
	}
	switch {
	case !connected:
		s.Store = "unknown"
	case v.Alive[h.Name]:
		s.Store = "alive"
	}
	return s
}

// part reports which peers do not answer, and whether checksums arrive corrupted.
func (w *peerPaths) part(started time.Time) heddle.PartStatus {
	var silent []string
	all := w.status()
	least := 0
	for _, p := range all {
		if p.PathMTU > 0 && (least == 0 || p.PathMTU < least) {
			least = p.PathMTU
		}
		if p.State != string(peer.Up) || p.Path == "none" {
			silent = append(silent, p.Name)
		}
	}
	w.mu.Lock()
	soft := w.findings.SoftChecksums
	w.mu.Unlock()
	part := heddle.PartStatus{Name: "paths", State: "ok",
		Detail: fmt.Sprintf("%d of %d hosts answer", len(all)-len(silent), len(all))}
	if least > 0 {
		part.Detail += fmt.Sprintf(", the least path MTU is %d", least)
	}
	switch {
	case len(silent) > 0 && time.Since(started) > patrolEvery:
		part.State, part.Detail = "warn", "on the underlay nothing comes from "+heddle.Count(len(silent), "host")+": "+firstFew(silent, ", ")
	case soft:
		part.State, part.Detail = "warn",
			"the NIC, or something on the way, spoils the checksums of packets in tunnels: they are computed in software"
	}
	return part
}
