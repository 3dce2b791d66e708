package attack_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/vm"
	"github.com/heddle-network/heddle/test/world"
)

// hall is a real heddled with its sockets, and a network with two neighbours.
type hall struct {
	*cell.Agent
	dir      string
	one, two heddle.Endpoint
}

var ctx = context.Background()

// doorAttack goes for the agent itself, its sockets and what it is told. Such
// attacks are the same in every mode.
type doorAttack struct {
	class, name string
	// try says whether the attack succeeded.
	try func(t *testing.T, h *hall) bool
	// control shows that what the attack is made of works: done without what
	// prevents it, it succeeds.
	control func(t *testing.T, h *hall) bool
}

func doorAttacks() []doorAttack {
	var all []doorAttack
	for _, some := range [][]doorAttack{pathAttacks(), socketAttacks(), portAttacks(), churnAttacks()} {
		all = append(all, some...)
	}
	return all
}

// TestDoors mounts them all against one agent, which must live, keep its
// containers talking, and leave nothing.
func TestDoors(t *testing.T) {
	cell.Need(t)
	if vm.InGuest() {
		t.Skip("needs the heddled program, which guests do not have; nothing in it depends on the kernel's version")
	}
	dir := t.TempDir()
	for path := dir; path != "/" && path != os.TempDir(); path = filepath.Dir(path) {
		os.Chmod(path, 0o755) // callers without rights come as far as the socket
	}
	for _, sub := range []string{"state", "run"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h := &hall{Agent: cell.Start(t, dir), dir: dir}
	h.network(t, "net", 20)
	h.one, h.two = h.attach(t, "one"), h.attach(t, "two")
	for _, d := range doorAttacks() {
		t.Run(d.name, func(t *testing.T) {
			if d.try(t, h) {
				t.Error("the attack succeeded")
			}
			if d.control != nil && !d.control(t, h) {
				t.Error("the attack fails without what prevents it too: it proves nothing")
			}
			h.sound(t)
		})
	}
	for _, e := range []string{"one", "two"} {
		h.detach(t, e)
	}
	if err := h.DeleteNetwork(ctx, "net"); err != nil {
		t.Error(err)
	}
	h.AuditEmpty(t)
	world.NoTrace(t)
}

func (h *hall) network(t *testing.T, name string, number int) {
	t.Helper()
	n := heddle.Network{Name: name, Mode: "bridge", Subnets: []netip.Prefix{
		netip.MustParsePrefix(fmt.Sprintf("10.%d.0.0/16", number)), netip.MustParsePrefix(fmt.Sprintf("fd20:%d::/64", number))}}
	if _, _, err := h.CreateNetwork(ctx, n, false); err != nil {
		t.Fatal(err)
	}
}

func idOf(pod string) heddle.EndpointID { return heddle.EndpointID{Container: pod, IfName: "eth0"} }

// ask attaches by a path.
func (h *hall) ask(id heddle.EndpointID, path string, ports ...heddle.PortMapping) error {
	limited, cancel := context.WithTimeout(ctx, 6*world.Patience)
	defer cancel()
	_, err := h.Attach(limited, heddle.AttachRequest{Network: "net", ID: id, Netns: path, Ports: ports})
	return err
}

// attach makes a container for the length of the test.
func (h *hall) attach(t *testing.T, pod string) heddle.Endpoint {
	t.Helper()
	r, err := h.Attach(ctx, heddle.AttachRequest{Network: "net", ID: idOf(pod), Netns: cell.Netns(t, pod)})
	if err != nil {
		t.Fatal(err)
	}
	return r.Endpoint
}

func (h *hall) detach(t *testing.T, pod string) {
	t.Helper()
	if found, err := h.Detach(ctx, idOf(pod)); err != nil || !found {
		t.Errorf("detach %s: found %v, %v", pod, found, err)
	}
}

// sound: the agent answers, the neighbours reach each other, and nothing is
// left over.
func (h *hall) sound(t *testing.T) {
	t.Helper()
	one := world.Place{Name: "one", Path: "/run/netns/one"}
	for _, a := range h.two.Addrs {
		one.Reaches(t, a.Addr())
	}
	world.Within(t, 2*world.Patience, "audit is empty", func() error {
		found, err := h.Audit(ctx)
		if err == nil && len(found) > 0 {
			err = fmt.Errorf("%+v", found)
		}
		return err
	})
}

// refusedAs reports whether an error is heddle's own with the code.
func refusedAs(err error, code heddle.Code) bool {
	var known *heddle.Error
	return errors.As(err, &known) && known.Code == code
}
