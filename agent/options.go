package agent

import (
	"log/slog"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/names"
	"github.com/heddle-network/heddle/nic"
)

// Options of an agent.
type Options struct {
	// Name is the host's name; the system's host name if empty.
	Name string
	// StateDir survives a reboot. RunDir need not.
	StateDir, RunDir string
	Modes            []heddle.Mode
	// Cluster is the client of the store that the hosts share; nil without a cluster.
	Cluster cluster.API
	// Alone says that the host has left its cluster, if it had one: its networks of several hosts
	// become its own.
	Alone bool
	Log   *slog.Logger
	// Root is the folder below which NIC managers have their runtime files; "/"
	// if empty.
	Root string
	// LeaseTime is how long an address without an endpoint stays leased; two minutes if 0.
	LeaseTime time.Duration
	// Patrol is how often the host is compared with the plans if there is no event. If 0, this is
	// every five seconds, and less often where comparing takes long. Tests set it.
	Patrol time.Duration
	// Machine opens another kernel instead of the host's, if not nil. Tests set it.
	Machine func(Hooks) (Machine, error)
	// Untried skips the trial of a mode before its first network is made: for a
	// kernel on which the modes are known to work.
	Untried bool
	// Resolver is the program that answers containers' questions for names: heddled, or "" if nobody
	// is to answer them. /proc/self/exe is the agent's own version.
	Resolver string
	// Forwards are domains whose names the resolver asks of name servers of their own.
	Forwards []names.Forward
	// NICs plugs NICs in for endpoints of networks that want this; nil if nobody does.
	NICs nic.Provider
	// NoFastPath sends all packets through the host's stack.
	NoFastPath bool
	// Tripwire is called before every step that changes something. If it fails, the operation
	// stops there. Tests set it.
	Tripwire func(step string) error
}
