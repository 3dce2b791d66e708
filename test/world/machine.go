package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/frames"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
)

// TAP asks for a TAP device in place of a container's interface.
func TAP(r *heddle.AttachRequest) { r.TAP, r.Netns = true, "" }

// Machine is Pod with a network stack behind a TAP device, as a virtual machine's: in the namespace, eth0 is another TAP device,
// and frames are copied between the two.
func (w *World) Machine(t testing.TB, name, network string, options ...PodOption) *Pod {
	t.Helper()
	p := &Pod{Netns: NewNetns(t, name), w: w}
	reply, err := w.Attach(context.Background(), w.Request(p.Netns, network, append(options, TAP)...))
	cell.Must(t, err)
	p.Endpoint = reply.Endpoint
	t.Cleanup(func() { p.leave(t, p.Endpoint.ID) })
	p.Plug(t, reply)
	return p
}

// Plug opens an endpoint's TAP device for the stack in the namespace, and gives it the endpoint's MAC address and addresses.
func (n Netns) Plug(t testing.TB, r heddle.AttachReply) {
	t.Helper()
	var port *os.File
	_, err := poll.Until(Patience, 5*time.Millisecond, func() (err error) {
		// The agent, which makes a lost device anew, has it open for a moment.
		if port, err = frames.OpenTAP(r.Endpoint.Port); err != nil && !errors.Is(err, unix.EBUSY) {
			err = poll.Final(err)
		}
		return err
	})
	cell.Must(t, err)
	var own *os.File
	cell.Must(t, n.Do(func() (err error) {
		own, err = frames.NewTAP("eth0")
		return err
	}))
	script := fmt.Sprintf("ip link set lo up; ip link set eth0 address %s mtu %d up\n", r.Endpoint.MAC, r.Endpoint.MTU)
	for _, a := range r.Endpoint.Addrs {
		script += "ip address add " + a.String() + " dev eth0 " + nodad(a.Addr()) + "\n"
	}
	for _, g := range r.Gateways {
		script += "ip route add " + heddle.FamilyOf(g).Any().String() + " via " + g.String() + "\n"
	}
	go Carry(port, own)
	go Carry(own, port)
	t.Cleanup(func() {
		port.Close()
		own.Close()
	})
	n.Sh(t, "%s", script)
}

// Carry copies frames, with their virtio-net headers, until one of the devices is closed or deleted.
func Carry(from, to *os.File) {
	frame := make([]byte, 70000)
	for {
		n, err := from.Read(frame)
		if err != nil {
			return
		}
		to.Write(frame[:n])
	}
}
