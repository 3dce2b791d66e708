// Package link puts impairments between a user of a crowd and the network: what the user's interface sends and receives
// takes a detour through this program, which loses, delays and paces it. All of it is in the user's namespace, so it is
// the same whatever the network is.
//
//	what the user sends:      eth0 (egress)  ── detour ── relay ── detour ── eth0 ── the network
//	what the user is sent:    eth0 (ingress) ── detour ── relay ── detour ── eth0 ── the user
package link

import (
	"errors"
	"os"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bpf"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/socket"
	"github.com/heddle-network/heddle/impair"
	"github.com/heddle-network/heddle/tap"
)

// Links are those of a crowd. All methods may be called at once.
type Links struct {
	// Late, if it is set, is told of each frame how much later than due it went on.
	Late func(time.Duration)

	mu      sync.Mutex
	detours map[int]*bpf.Detour // by the index of the port
	devices []*os.File
	relays  []*impair.Relay
	running sync.WaitGroup
}

// Put puts the link of a user, from 1, between the user's interface and the network. With the same seed it makes the same
// decisions about the user's frames. It lasts until Close, or as long as the namespace.
func (l *Links) Put(n socket.Namespace, port string, as scenario.Link, seed uint64, user int) error {
	var device *os.File
	var mtu int
	err := n.Do(func() (err error) {
		device, mtu, err = l.detour(port)
		return err
	})
	if err != nil {
		return err
	}
	as.Seed = seed
	out, in := l.relay(as, 2*uint64(user)), l.relay(as, 2*uint64(user)+1)
	l.mu.Lock()
	l.devices, l.relays = append(l.devices, device), append(l.relays, out, in)
	l.mu.Unlock()
	l.running.Go(func() { divide(tap.Frames(device, impair.HeaderSize+mtu+maxHeader), out, in) })
	for _, r := range []*impair.Relay{out, in} {
		l.running.Go(func() { r.Write(device) })
	}
	return nil
}

// maxHeader is room for an Ethernet header with two VLAN tags.
const maxHeader = 22

func (l *Links) relay(as scenario.Link, stream uint64) *impair.Relay {
	r := impair.NewRelay(stream)
	r.Set(as.Impairment)
	r.SetRate(as.Rate)
	r.Late = l.Late
	return r
}

// divide reads frames until the device is closed, and passes those that were sent to out.
func divide(next func() ([]byte, error), out, in *impair.Relay) {
	for {
		b, err := next()
		switch {
		case errors.Is(err, os.ErrClosed):
			return
		case err != nil || len(b) <= impair.HeaderSize+bpf.GroupByte:
			continue
		case b[impair.HeaderSize+bpf.GroupByte]&bpf.GroupBit != 0:
			out.Pass(b)
		default:
			in.Pass(b)
		}
	}
}

// Close takes all links away. Frames that are under way are lost.
func (l *Links) Close() {
	for _, r := range l.relays {
		r.Close()
	}
	for _, d := range l.devices {
		d.Close()
	}
	l.running.Wait()
	for _, d := range l.detours {
		d.Close()
	}
}

// Check refuses a kernel that has not what links need. It looks by putting one into a namespace that ends at once.
func Check() error {
	n, err := socket.NewNamespace()
	if err != nil {
		return heddle.Wrap(heddle.CrowdFailed, "make network namespace for", "a link", err, "call as root")
	}
	defer n.Close()
	l := &Links{}
	defer l.Close()
	if err := l.Put(n, "lo", scenario.Link{}, 0, 0); err != nil {
		return heddle.Wrap(heddle.NotOnKernel, "give users", "links", err, "load the kernel's modules, if it has them "+
			"('modprobe -a tun sch_ingress cls_bpf'), or take link out of the scenario's personas")
	}
	return nil
}
