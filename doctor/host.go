package doctor

import (
	"context"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/kernel"
)

// Paths are the paths of an installation.
type Paths struct {
	Socket, RunDir, StateDir string
	// CNIConf holds the runtimes' network configurations, CNIBin the plugins.
	CNIConf, CNIBin string
	// Labs holds a folder for each lab that is up.
	Labs string
}

// Host is the host that is checked. What several checks need is read once.
type Host struct {
	Paths
	Modes []heddle.Mode
	// Version is the caller's own.
	Version string

	status    lazy[heddle.Status]
	networks  lazy[[]heddle.Network]
	endpoints lazy[[]heddle.Endpoint]
	audited   lazy[[]heddle.Finding]
	facts     lazy[heddle.HostFacts]
	owned     lazy[kernel.Owned]
	links     lazy[[]link]
	routes    lazy[[]route]
	rules     lazy[[]rule]
	chains    lazy[[]chain]
	legacy    lazy[[]legacyTable]
	processes lazy[[]process]
	agent     lazy[int]
	conflists lazy[[]conflist]
}

// NewHost returns the host of the calling process.
func NewHost(p Paths, modes []heddle.Mode, version string) *Host {
	return &Host{Paths: p, Modes: modes, Version: version}
}

// Fresh returns the same host with nothing read yet.
func (h *Host) Fresh() *Host { return NewHost(h.Paths, h.Modes, h.Version) }

// lazy is a value that is read once, when it is first needed.
type lazy[T any] struct {
	once  sync.Once
	value T
	err   error
}

func (l *lazy[T]) get(read func() (T, error)) (T, error) {
	l.once.Do(func() { l.value, l.err = read() })
	return l.value, l.err
}

// answerTimeout limits one call of the agent.
const answerTimeout = 5 * time.Second

// ask calls the agent.
func ask[T any](ctx context.Context, h *Host, call func(*client.Client, context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return call(client.New(h.Socket), ctx)
}

// Status returns the agent's status.
func (h *Host) Status(ctx context.Context) (heddle.Status, error) {
	return h.status.get(func() (heddle.Status, error) { return ask(ctx, h, (*client.Client).Status) })
}

// Endpoints returns the host's endpoints from the agent.
func (h *Host) Endpoints(ctx context.Context) ([]heddle.Endpoint, error) {
	return h.endpoints.get(func() ([]heddle.Endpoint, error) {
		if _, err := h.Status(ctx); err != nil {
			return nil, err
		}
		return ask(ctx, h, (*client.Client).Endpoints)
	})
}

// Facts returns the facts that plans are made from: the host's own interfaces, the uplink
// first.
func (h *Host) Facts() (heddle.HostFacts, error) {
	return h.facts.get(func() (f heddle.HostFacts, err error) {
		return f, withKernel(func(k *kernel.Kernel) error { f, err = k.Facts(); return err })
	})
}

// Owned returns the kernel's objects with our mark.
func (h *Host) Owned() (kernel.Owned, error) {
	return h.owned.get(func() (o kernel.Owned, err error) {
		return o, withKernel(func(k *kernel.Kernel) error { o, err = k.Ours(); return err })
	})
}

func withKernel(use func(*kernel.Kernel) error) error {
	k, err := kernel.Open()
	if err != nil {
		return err
	}
	defer k.Close()
	return use(k)
}
