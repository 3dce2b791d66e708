package store_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle/store"
	"github.com/heddle-network/heddle/test/port"
)

// keeper runs one server of a store for the tests of the contract.
type keeper interface {
	endpoint() string
	client() *tls.Config
	start()
	stop()
	// wipe removes the data of a server that is stopped.
	wipe()
}

// keepers are the ways to keep a store; all must pass the same tests.
var keepers = []struct {
	name string
	make func(t *testing.T, quota int64) keeper
}{
	{"embedded-clear", func(t *testing.T, quota int64) keeper { return newEmbedded(t, quota, nil) }},
	{"embedded-tls", func(t *testing.T, quota int64) keeper { return newEmbedded(t, quota, newAuthority(t)) }},
	{"debian", newDebian},
}

func forAll(t *testing.T, quota int64, test func(t *testing.T, k keeper)) {
	t.Parallel()
	for _, way := range keepers {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			k := way.make(t, quota)
			k.start()
			test(t, k)
		})
	}
}

// dial opens the keeper's store, and closes it with the test.
func dial(t *testing.T, k keeper) *store.Etcd {
	t.Helper()
	return dialOptions(t, store.Options{Endpoints: []string{k.endpoint()}, TLS: k.client(), Patience: time.Minute})
}

func dialOptions(t *testing.T, o store.Options) *store.Etcd {
	t.Helper()
	e, err := store.Dial(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// embedded is a server in the test's process.
type embedded struct {
	t       *testing.T
	options store.ServerOptions
	config  *tls.Config
	server  *store.Server
}

func newEmbedded(t *testing.T, quota int64, a *authority) *embedded {
	e := &embedded{t: t, options: store.ServerOptions{
		Name: "one", Dir: filepath.Join(t.TempDir(), "etcd"), Quota: quota,
		Client: []netip.AddrPort{port.Free(t)}, Peer: []netip.AddrPort{port.Free(t)}, Log: testLog(t),
	}}
	if a != nil {
		e.options.TLS, e.config = a.server(t), a.client(t, "host-a", time.Hour)
	}
	return e
}

func (e *embedded) endpoint() string    { return e.options.Client[0].String() }
func (e *embedded) client() *tls.Config { return e.config }

func (e *embedded) start() {
	e.t.Helper()
	s, err := store.StartServer(e.options)
	if err != nil {
		e.t.Fatal(err)
	}
	e.server = s
	e.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			e.t.Error(err)
		}
	})
}

func (e *embedded) stop() {
	e.t.Helper()
	if err := e.server.Close(); err != nil {
		e.t.Fatal(err)
	}
}

func (e *embedded) wipe() { removeAll(e.t, e.options.Dir) }

// debian is Debian's etcd, a process of its own.
type debian struct {
	t            *testing.T
	dir          string
	quota        int64
	listen, peer netip.AddrPort
	process      *exec.Cmd
}

func newDebian(t *testing.T, quota int64) keeper {
	if _, err := exec.LookPath("etcd"); err != nil {
		t.Skip("needs etcd (package etcd-server)")
	}
	return &debian{t: t, dir: filepath.Join(t.TempDir(), "etcd"), quota: quota, listen: port.Free(t), peer: port.Free(t)}
}

func (d *debian) endpoint() string    { return d.listen.String() }
func (d *debian) client() *tls.Config { return nil }

func (d *debian) start() {
	d.t.Helper()
	client, peer := "http://"+d.listen.String(), "http://"+d.peer.String()
	d.process = exec.Command("etcd", "--name", "one", "--data-dir", d.dir, "--logger", "zap", "--log-outputs", "stderr",
		"--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
		"--initial-advertise-peer-urls", peer, "--initial-cluster", "one="+peer, "--quota-backend-bytes", fmt.Sprint(d.quota))
	d.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := os.Create(filepath.Join(d.t.TempDir(), "log"))
	if err != nil {
		d.t.Fatal(err)
	}
	d.process.Stderr = log
	if err := d.process.Start(); err != nil {
		d.t.Fatal(err)
	}
	p := d.process
	d.t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
		if d.t.Failed() {
			_, _ = log.Seek(max(0, end(log)-4000), io.SeekStart)
			tail, _ := io.ReadAll(log)
			d.t.Logf("the end of etcd's log:\n%s", tail)
		}
		log.Close()
	})
}

func end(f *os.File) int64 {
	n, _ := f.Seek(0, io.SeekEnd)
	return n
}

// stop kills the server: what it has confirmed must be there when it starts again.
func (d *debian) stop() {
	d.t.Helper()
	if err := d.process.Process.Kill(); err != nil {
		d.t.Fatal(err)
	}
	_ = d.process.Wait() // it was killed
}

func (d *debian) wipe() { removeAll(d.t, d.dir) }

func (d *debian) signal(s syscall.Signal) {
	d.t.Helper()
	if err := d.process.Process.Signal(s); err != nil {
		d.t.Fatal(err)
	}
}

func removeAll(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
}

// testLog shows the store's own log if HEDDLE_TEST_LOG is set.
func testLog(t *testing.T) *slog.Logger {
	if os.Getenv("HEDDLE_TEST_LOG") == "" {
		return nil
	}
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}
