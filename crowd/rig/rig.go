// Package rig makes what a crowd plays on: a lab host with a network in each mode under test, one after the other.
package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/round"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/lab"
)

// Descriptors of the player.
const (
	LeaveFD = 3 // a pipe that ends when it shall leave; until then, each line is an Order
	DiaryFD = 4 // where it writes the diary, with --diary
	// CaptureFD is where it writes the packets, with --capture, and so with --diary.
	CaptureFD = 5
)

// Rig is a lab of one host.
type Rig struct {
	Options
	lab    *lab.Lab
	agent  *client.Client
	orders orders
}

// Options of a rig.
type Options struct {
	// Name is the lab's.
	Name string
	// Modes are those under test.
	Modes []string
	// Users is how many addresses a network needs, beside those of services.
	Users int
	// Text is the scenario, and Seed that of the plan.
	Text []byte
	Seed uint64
	// Diary is where the crowd's program writes what happens; nil if it does not.
	Diary *os.File
	// Capture is where it writes the users' packets, up to Most bytes of each, 0 for all; nil if it does not. There is a Diary then.
	Capture *os.File
	Most    int
	// Live takes what a round that is being played has come to.
	Live func(round.Live)
	// Notes takes the words of the crowd's program.
	Notes func(string)
}

// New makes the lab. A lab of the name must not exist.
func New(ctx context.Context, o Options) (*Rig, error) {
	t := lab.Topology{Name: o.Name, Bound: true, Hosts: []lab.Node{{Name: "host1", Spare: 1}}, Progress: func(string) {}}
	if slices.Contains(o.Modes, "overlay") {
		t.Store = lab.StoreEmbedded
	}
	l, err := lab.Raise(ctx, t)
	if err != nil {
		return nil, err
	}
	r := &Rig{Options: o, lab: l, agent: client.New(l.Hosts[0].Socket)}
	if err := r.parentUp(ctx); err != nil {
		return nil, errors.Join(err, r.Close(context.WithoutCancel(ctx)))
	}
	return r, nil
}

// parent is a NIC of the lab host that carries nothing else.
var parent = lab.NICName(1)

func (r *Rig) parentUp(ctx context.Context) error {
	cmd, err := r.lab.Hosts[0].Command(ctx, "ip", "link", "set", parent, "up")
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return heddle.Wrap(heddle.LabFailed, "bring up NIC", parent, fmt.Errorf("%w: %s", err, out), "install iproute2")
	}
	return nil
}

// Close removes the lab.
func (r *Rig) Close(ctx context.Context) error { return r.lab.Down(ctx) }

// Play plays the plan on a new network of a mode, in the round of that number, and removes the network.
func (r *Rig) Play(ctx context.Context, mode string, number int) (played round.Round, err error) {
	n := r.network(mode)
	if _, _, err = r.agent.CreateNetwork(ctx, n, false); err != nil {
		return played, err
	}
	defer func() {
		err = errors.Join(err, r.agent.DeleteNetwork(context.WithoutCancel(ctx), n.Name))
	}()
	return r.run(ctx, n.Name, number)
}

// A network has room for the users, and for those that the crowd may be given while it plays: 65,536 addresses at least.
const (
	roomBits  = 16
	roomTimes = 4
)

// network is that of a mode: with room for all users, in both families.
func (r *Rig) network(mode string) heddle.Network {
	n := heddle.Network{Name: "crowd-" + mode, Mode: mode}
	bits := roomBits
	for 1<<(32-bits) < roomTimes*r.Users {
		bits--
	}
	n.Subnets = []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 128}), bits), netip.MustParsePrefix("fd99:128::/64")}
	if mode == "macvlan" || mode == "ipvlan" {
		n.Parent = parent
	}
	return n
}

// run has the crowd's program play in the lab host.
func (r *Rig) run(ctx context.Context, network string, number int) (played round.Round, err error) {
	self, err := os.Executable()
	if err != nil {
		return played, err
	}
	argv := []string{self, "crowd", "run", "/dev/stdin", "--network", network, "-o", "json", "--player", strconv.Itoa(number),
		"--users", strconv.Itoa(r.Users), "--seed", strconv.FormatUint(r.Seed, 10)}
	if r.Diary != nil {
		argv = append(argv, "--diary", r.Diary.Name())
	}
	if r.Capture != nil {
		argv = append(argv, "--capture", r.Capture.Name(), "--snaplen", strconv.Itoa(r.Most))
	}
	cmd, err := r.lab.Hosts[0].Command(ctx, argv...)
	if err != nil {
		return played, err
	}
	var out bytes.Buffer
	said := &lines{notes: r.Notes, live: r.Live, reply: r.orders.reply}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(r.Text), &out, said
	// A signal would end nsenter, and with it the player. At the end of the pipe the player clears up, and says
	// what it has.
	hear, leave, err := os.Pipe()
	if err != nil {
		return played, heddle.Wrap(heddle.CrowdFailed, "play crowd on network", network, err, "")
	}
	defer leave.Close()
	defer hear.Close()
	defer r.orders.begin(leave)()
	cmd.ExtraFiles = []*os.File{hear}
	if r.Diary != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, r.Diary)
	}
	if r.Capture != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, r.Capture)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's Ctrl-C is for us
	cmd.Cancel, cmd.WaitDelay = leave.Close, 5*time.Minute
	failed := said.orElse(cmd.Run(), network)
	if out.Len() == 0 {
		return played, failed
	}
	var report struct{ Rounds []round.Round }
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || len(report.Rounds) != 1 {
		return played, heddle.Wrap(heddle.CrowdFailed, "read figures of network", network, errors.Join(err, failed), "report it")
	}
	played = report.Rounds[0]
	if played.Invalid != "" && errors.Is(failed, heddle.CrowdFailed.Sentinel()) {
		return played, nil // the figures say so
	}
	return played, failed
}
