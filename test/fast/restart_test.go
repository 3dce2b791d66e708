package fast_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestReplaced: streams go on while the programs are taken away and put back, twenty
// times, on both hosts.
func TestReplaced(t *testing.T) {
	s := newScene(t)
	var streams []*stream
	for _, to := range append(s.b.Addrs(), s.far.Addrs()...) {
		streams = append(streams, newStream(t, s.a.Place, netip.AddrPortFrom(to, 7000)))
	}
	for i := range 20 {
		s.first.FastPath(t, i%2 == 1)
		s.second.FastPath(t, i%4 < 2)
		for _, st := range streams {
			st.goesOn(t)
		}
	}
	for _, st := range streams {
		st.end(t)
	}
}

// TestAgents: streams go on while the agent is killed and started again, and it finds
// the fast path's programs and counters as they were.
func TestAgents(t *testing.T) {
	cell.Need(t)
	for _, mode := range []string{"routed", "bridge"} {
		t.Run(mode, func(t *testing.T) {
			dir, ctx := t.TempDir(), context.Background()
			a := cell.Start(t, dir)
			_, _, err := a.CreateNetwork(ctx, heddle.Network{Name: "net", Mode: mode,
				Subnets: []netip.Prefix{netip.MustParsePrefix("10.20.0.0/24"), netip.MustParsePrefix("fd20::/64")}}, false)
			if err != nil {
				t.Fatal(err)
			}
			client, server := world.Namespace(t, "client"), world.Namespace(t, "server")
			var streams []*stream
			attached(t, a, client)
			for _, p := range attached(t, a, server).Addrs {
				server.Serve(t, 7000, p.Addr())
				streams = append(streams, newStream(t, client, netip.AddrPortFrom(p.Addr(), 7000)))
			}
			var carried uint64
			for range 20 {
				for _, st := range streams {
					st.goesOn(t)
				}
				now := counts(t, a)
				if now <= carried {
					t.Errorf("%d packets carried, %d before", now, carried)
				}
				carried = now
				a.Kill()
				a = cell.Start(t, dir)
			}
			for _, st := range streams {
				st.end(t)
			}
			a.AuditEmpty(t)
			for _, p := range []world.Place{client, server} {
				if _, err := a.Detach(ctx, heddle.EndpointID{Container: p.Name, IfName: "eth0"}); err != nil {
					t.Error(err)
				}
			}
			if err := a.DeleteNetwork(ctx, "net"); err != nil {
				t.Error(err)
			}
			a.AuditEmpty(t)
			a.Stop()
		})
	}
}

func attached(t *testing.T, a *cell.Agent, p world.Place) heddle.Endpoint {
	t.Helper()
	reply, err := a.Attach(context.Background(), heddle.AttachRequest{Network: "net", ID: heddle.EndpointID{Container: p.Name, IfName: "eth0"}, Netns: p.Path})
	if err != nil {
		t.Fatal(fmt.Errorf("attach %s: %w", p.Name, err))
	}
	return reply.Endpoint
}

// counts is what the agent says that it has carried for the client.
func counts(t *testing.T, a *cell.Agent) uint64 {
	t.Helper()
	e, err := a.Endpoint(context.Background(), heddle.EndpointID{Container: "client", IfName: "eth0"})
	if err != nil || e.Fast == nil {
		t.Fatalf("no counters of the fast path: %v", err)
	}
	return e.Fast.Carried()
}
