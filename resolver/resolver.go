// Package resolver answers containers' questions for names: for those of the networks that they
// are on by the files of a folder, for all others by the host's name servers. It is a process of
// its own, which needs no agent (docs/adr/0035-names.md).
package resolver

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
	"github.com/heddle-network/heddle/resolver/nameservers"
	"github.com/heddle-network/heddle/resolver/process"
)

// Options says where a resolver finds what it needs. Only Dir has no default.
type Options struct {
	// Dir is the folder with a file for each network (names.Network).
	Dir string
	// ResolvConf names the host's name servers. If all of them are on the loopback interface,
	// and UplinkConf is there, that does, after systemd-resolved itself.
	ResolvConf, UplinkConf string
	Limits                 Limits
	Log                    *slog.Logger
}

// The port of DNS, here and at the host's name servers.
const port = heddle.ResolverPort

// The intervals of what is done again and again.
const (
	// retryPause is between attempts to open a socket whose port is not free.
	retryPause = 250 * time.Millisecond
	// tellPause is between two writings of the status.
	tellPause = time.Second
	// denialPeriod is how long the status tells at least of questions that were not answered.
	denialPeriod = time.Minute
)

// server is a running resolver.
type server struct {
	dir       string
	since     time.Time
	log       *slog.Logger
	table     atomic.Pointer[names.Table]
	accounts  *accounts
	upstreams *upstreams
	lines     *lines
	counts    counters
	sockets   *sockets
	folder    *folder
	told      process.Status
}

func newServer(o Options) *server {
	if o.Limits == (Limits{}) {
		o.Limits = DefaultLimits
	}
	s := &server{dir: o.Dir, since: time.Now(), log: o.Log, accounts: newAccounts(o.Limits), folder: newFolder(o.Dir),
		upstreams: newUpstreams(cmp.Or(o.ResolvConf, nameservers.Conf), cmp.Or(o.UplinkConf, nameservers.Uplink),
			filepath.Join(o.Dir, names.ForwardFile))}
	s.lines = newLines(func() { s.counts.wrong.Add(1) })
	s.sockets = newSockets(s.serve)
	s.table.Store(names.NewTable())
	return s
}

// Run answers until the context ends. The error is of code ResolverRuns if another resolver
// answers for the folder.
func Run(ctx context.Context, o Options) error {
	lock, err := process.Take(o.Dir, heddle.Version)
	if err != nil {
		return err
	}
	s := newServer(o)
	watch, err := newWatch(o.Dir)
	if err != nil {
		s.log.Warn("the folder is looked at every second, since the kernel does not tell its changes", "error", err)
	}
	s.log.Info("ready", "dir", o.Dir, "version", heddle.Version)
	s.run(ctx, watch, lock.Lost)
	s.sockets.want(nil)
	s.lines.close()
	if lock.Lost() {
		return errors.Join(watch.close(), lock.Release())
	}
	gone := os.Remove(process.StatusPath(o.Dir))
	if errors.Is(gone, os.ErrNotExist) {
		gone = nil
	}
	return errors.Join(watch.close(), gone, lock.Release())
}

// run follows the folder until the context ends, or the folder is lost.
func (s *server) run(ctx context.Context, watch *watch, lost func() bool) {
	retry, tell, period := time.NewTicker(retryPause), time.NewTicker(tellPause), time.NewTicker(denialPeriod)
	defer retry.Stop()
	defer tell.Stop()
	defer period.Stop()
	s.reload()
	s.tell()
	for {
		select {
		case <-ctx.Done():
			return
		case <-watch.changed():
			s.reload()
		case <-retry.C:
			if s.sockets.retry() {
				s.tell()
			}
		case <-period.C:
			s.accounts.nextPeriod()
		case <-tell.C:
			if lost() {
				s.log.Info("the folder is gone, and so is this resolver")
				return
			}
			if !watch.works() {
				s.reload()
			}
			s.tell()
		}
	}
}

// reload reads the files that have changed. Questions are answered by the table before until the
// new one is complete.
func (s *server) reload() {
	begin := time.Now()
	if !s.folder.scan() {
		return
	}
	for _, u := range s.folder.unread() {
		s.log.Warn("a network's names stay as they were", "file", u.File, "error", heddle.Visible(u.Cause, false))
	}
	t := s.folder.table()
	s.table.Store(t)
	s.accounts.keep(t.Askers())
	s.sockets.want(t.Listens())
	s.tell()
	time.Sleep(min(2*time.Since(begin), time.Second)) // at most a third of a processor reads
}

// tell writes the status if it has changed.
func (s *server) tell() {
	status := process.Status{Version: heddle.Version, PID: os.Getpid(), Since: s.since, Networks: s.table.Load().Networks(),
		Unread: s.folder.unread(), Counts: s.counts.read(), Denied: s.accounts.denied()}
	var forwards []names.Forward
	if status.Upstreams, forwards = s.upstreams.current(); len(forwards) > 0 {
		status.Forwards = map[string][]netip.AddrPort{}
		for _, f := range forwards {
			status.Forwards[f.Domain] = f.Servers
		}
	}
	status.Serves, status.Fails = s.sockets.state()
	if reflect.DeepEqual(status, s.told) {
		return
	}
	if !reflect.DeepEqual(status.Fails, s.told.Fails) {
		for _, f := range status.Fails {
			s.log.Warn("an address is not served yet", "address", f.Addr, "error", f.Cause)
		}
	}
	if err := status.Write(s.dir); err != nil {
		s.log.Warn("the status cannot be written", "error", err)
		return
	}
	s.told = status
}
