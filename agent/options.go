package agent

import (
	"log/slog"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
)

// Options of an agent.
type Options struct {
	// Name of the host; the system's host name if empty.
	Name string
	// StateDir survives a reboot, RunDir need not.
	StateDir, RunDir string
	Modes            []heddle.Mode
	// Cluster is what the hosts agree on; nil for a host alone.
	Cluster cluster.API
	// Alone says that the host has left the cluster that it had, if any: networks of
	// several hosts become its own.
	Alone bool
	Log   *slog.Logger
	// Root is the folder below which NIC managers have their runtime files; "/"
	// if empty.
	Root string
	// LeaseTime is how long an address stays leased that no endpoint has; two minutes
	// if 0.
	LeaseTime time.Duration
	// Patrol is how often the host is compared with the plans when no event came; if 0,
	// every five seconds, and less often where comparing takes long. Tests set it.
	Patrol time.Duration
	// Machine opens the kernel in whose place another one is; the host's if nil. Tests set it.
	Machine func(Hooks) (Machine, error)
	// Untried skips the trial of a mode before its first network is made: for a
	// kernel on which the modes are known to work.
	Untried bool
	// NoFastPath has all packets take the host's stack.
	NoFastPath bool
	// Tripwire is called before every step that changes something; an error
	// from it stops the operation there. Tests set it.
	Tripwire func(step string) error
}
