package store

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/heddle-network/heddle"
)

// ServerOptions of a member of the store in this process.
type ServerOptions struct {
	// Name of the member: its host's.
	Name string
	// Dir keeps the data; it is created with access for the owner only.
	Dir string
	// Client and Peer are the addresses where it listens, and which it tells others: the
	// underlay addresses. It advertises the first; none may be unspecified.
	Client, Peer []netip.AddrPort
	// Initial are the members' peer URLs by name, including its own; nil: it is alone. It
	// is used at the first start only.
	Initial map[string]string
	// Existing is set if the cluster exists, and this member was added to it.
	Existing bool
	// ForceNew makes this member the only one, with its data; the others are lost.
	ForceNew bool
	// TLS is for clients and peers alike; nil: unencrypted.
	TLS *ServerTLS
	// Quota of the data in bytes; 256 MiB if 0.
	Quota int64
	Log   *slog.Logger
}

// ServerTLS are files in PEM.
type ServerTLS struct {
	CA, Cert, Key string
	// PeerName, if not "", is the common name that the other members must have.
	PeerName string
}

// Server is a member of the store in this process. It ends with the process.
type Server struct {
	options ServerOptions
	etcd    *embed.Etcd
	lock    *os.File
	closing chan struct{}
	done    chan struct{}
	failed  *failure
	asked   sync.Once
	once    sync.Once
	running sync.WaitGroup
}

// StartServer starts a member. It does not wait for the others: Ready does.
func StartServer(o ServerOptions) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Quota == 0 {
		o.Quota = 256 << 20
	}
	s := &Server{options: o, closing: make(chan struct{}), done: make(chan struct{}), failed: &failure{end: make(chan struct{})}}
	config, err := o.config(s.failed)
	if err != nil {
		return nil, o.explain(err)
	}
	if s.lock, err = o.lock(); err != nil {
		return nil, o.explain(err)
	}
	if s.etcd, err = s.failed.guard(func() (*embed.Etcd, error) { return embed.StartEtcd(config) }); err != nil {
		s.lock.Close()
		return nil, o.explain(err)
	}
	s.running.Go(s.watchMember)
	return s, nil
}

// Ready is closed when the member serves, that is, when a majority of the members is up.
func (s *Server) Ready() <-chan struct{} { return s.etcd.Server.ReadyNotify() }

// Stopped is closed when the member has stopped, by Close or by itself; Err
// says why.
func (s *Server) Stopped() <-chan struct{} { return s.done }

// Err returns why the member stopped by itself, nil if it did not.
func (s *Server) Err() error {
	if err := s.failed.get(); err != nil {
		return s.options.explain(err)
	}
	return nil
}

// MemberID is the member's number in the cluster.
func (s *Server) MemberID() uint64 { return uint64(s.etcd.Server.MemberID()) }

// Leads reports whether the member leads the others just now.
func (s *Server) Leads() bool { return s.etcd.Server.Leader() == s.etcd.Server.MemberID() }

// Close stops the member and returns when its files are closed.
func (s *Server) Close() error {
	s.asked.Do(func() { close(s.closing) })
	s.running.Wait()
	s.end()
	return s.Err()
}

// stopTime bounds how long a member may take to stop, since etcd waits some seconds for
// each address. The agent has other work to do when it ends.
const stopTime = 30 * time.Second

func (s *Server) end() {
	s.once.Do(func() {
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			s.closeEtcd()
		}()
		limit := stopTime
		if s.failed.get() != nil { // the rest may wait for a goroutine that has ended
			limit = 10 * time.Second
		}
		select {
		case <-closed:
		case <-time.After(limit):
			s.options.Log.Error("this host's member of the store does not stop; its end is left to that of the process", "waited", limit.String())
		}
		s.lock.Close()
		close(s.done)
	})
}

// closeEtcd stops, before the rest, a member that does not serve yet because there is no
// majority. Etcd's own Close would wait for servers that start only after that.
func (s *Server) closeEtcd() {
	select {
	case <-s.Ready():
	default:
		s.etcd.Server.Stop()
	}
	s.etcd.Close()
}

// watchMember watches the member until it ends: whether it stops by itself, and whether it is
// full.
func (s *Server) watchMember() {
	tick := time.NewTicker(roomEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.closing:
			return
		case <-s.failed.end:
			s.stopped(s.failed.get())
			return
		case err := <-s.etcd.Err():
			s.stopped(err)
			return
		case <-s.etcd.Server.StopNotify():
			s.stopped(errors.New("the member stopped by itself; was it removed from the cluster?"))
			return
		case <-tick.C:
			s.makeRoom(context.Background())
		}
	}
}

// stopped records that the member stopped although nobody asked for it.
func (s *Server) stopped(err error) {
	s.failed.set(err)
	s.options.Log.Error("this host's member of the store stopped", "error", s.Err())
	s.end()
}

// lock locks the folder until the file is closed. Without it, etcd would wait silently for
// another process to release the folder.
func (o ServerOptions) lock() (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(o.Dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, heddle.Wrap(heddle.AgentRuns, "lock folder", o.Dir,
			etcdError{"another agent runs a member of the store in it", err}, "stop that agent first")
	}
	return f, nil
}

func (o ServerOptions) explain(err error) error {
	code, remedy := o.classify(err.Error())
	return heddle.Wrap(code, "run member of the store", o.Name, err, remedy)
}
