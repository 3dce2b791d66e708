package policy_test

import (
	"bufio"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/heddle-network/heddle/policy"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestOpenConnections: a rule that goes ends the connections that it allowed. Those that the endpoint itself has begun go on, also from before
// its first policy, while policies change and the agent is away.
func TestOpenConnections(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	db, web := w.Pod(t, "db", "net", labelled("app", "db")), w.Pod(t, "web", "net", labelled("app", "web"))
	for _, p := range []*world.Pod{db, web} {
		for _, a := range p.Addrs() {
			p.Listen(t, "tcp", netip.AddrPortFrom(a, 7000))
		}
	}
	var own []func() error
	for _, a := range web.Addrs() {
		own = append(own, conversation(t, db, netip.AddrPortFrom(a, 7000)))
	}
	goOn := func() {
		t.Helper()
		for _, say := range own {
			wantOK(t, say())
		}
	}
	goOn()
	enforce(t, w, database)
	goOn()
	var theirs []func() error
	for _, a := range db.Addrs() {
		theirs = append(theirs, conversation(t, web, netip.AddrPortFrom(a, 7000)))
	}
	w.Restart(t, goOn)
	for _, say := range theirs {
		wantOK(t, say())
	}
	less := read(t, database)
	less[0].Rules = less[0].Rules[1:]
	cell.Must(t, w.CreatePolicies(less, true))
	for _, say := range theirs {
		if say() == nil {
			t.Error("a connection goes on without its rule")
		}
	}
	goOn()
	less[0].Directions = []policy.Direction{policy.Ingress, policy.Egress}
	cell.Must(t, w.CreatePolicies(less, true))
	for _, say := range own {
		if say() == nil {
			t.Error("a connection goes on that the endpoint may not begin")
		}
	}
	w.AuditEmpty(t)
}

// conversation keeps a connection, and says something over it.
func conversation(t *testing.T, from *world.Pod, to netip.AddrPort) (say func() error) {
	t.Helper()
	c, err := from.Dial("tcp", netip.AddrPort{}, to, world.Patience)
	cell.Must(t, err)
	t.Cleanup(func() { c.Close() })
	r, n := bufio.NewReader(c), 0
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return func() error {
		n++
		c.SetDeadline(time.Now().Add(2 * world.Refusal))
		word := fmt.Sprintln("word", n)
		if _, err := c.Write([]byte(word)); err != nil {
			return err
		}
		if got, err := r.ReadString('\n'); err != nil || got != word {
			return fmt.Errorf("%s says to %s %q, and hears %q: %w", from.Name, to, word, got, err)
		}
		return nil
	}
}
