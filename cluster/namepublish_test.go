package cluster_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/names"
	"github.com/heddle-network/heddle/store"
	"github.com/heddle-network/heddle/test/cell"
)

// named is an endpoint of this host's block.
func named(name string, at netip.Addr) names.Endpoint {
	return names.Endpoint{ID: heddle.EndpointID{Container: name, IfName: "eth0"}, Name: name, Addrs: []netip.Addr{at}}
}

func hears(c *cluster.Cluster, network string, want ...string) func() bool {
	return func() bool {
		n := c.Names(network)
		if n == nil || len(n.Endpoints) != len(want) {
			return false
		}
		for i, e := range n.Endpoints {
			if e.Name != want[i] {
				return false
			}
		}
		return true
	}
}

// written is the number of changes that the store has had.
func written(t *testing.T, s store.Store) int64 {
	t.Helper()
	all, err := s.Read(wait(t), cluster.Prefix)
	cell.Must(t, err)
	return all.Revision
}

// TestNamesArrive: names are published, many at once, changed, taken back, and go with the host.
func TestNamesArrive(t *testing.T) {
	at := serve(t)
	s, dir := dial(t, at), t.TempDir()
	a, b := open(t, s, "a", dir), open(t, dial(t, at), "b", t.TempDir())
	n, err := a.CreateNetwork(wait(t), lan("web", "10.1.0.0/16"), nil)
	cell.Must(t, err)
	block, err := a.ClaimBlock(wait(t), n, n.Subnets[0], netip.Addr{})
	cell.Must(t, err)
	first := block.Addr().Next().Next()
	if b.Names(n.ID) == nil {
		t.Error("of a network without names nothing is known")
	}
	a.SetNames(map[string][]names.Endpoint{n.ID: {named("one", first), {ID: heddle.EndpointID{Container: "none", IfName: "eth0"}, Addrs: []netip.Addr{first}}}})
	until(t, "b hears of one", hears(b, n.ID, "one"))
	if e := b.Names(n.ID).Endpoints[0]; e.Host != "a" || e.Addrs[0] != first || e.ID.Container != "one" {
		t.Errorf("%+v", e)
	}
	revision := written(t, s)
	a.SetNames(map[string][]names.Endpoint{n.ID: {named("one", first)}}) // nothing new
	renamed := named("one", first)
	renamed.Name = "uno"
	a.SetNames(map[string][]names.Endpoint{n.ID: {renamed}})
	until(t, "b hears of the new name", hears(b, n.ID, "uno"))
	if now := written(t, s); now != revision+1 {
		t.Errorf("a name took %d changes", now-revision)
	}

	var many []names.Endpoint
	for i := range 250 {
		many = append(many, named(fmt.Sprint("n", i), first))
	}
	revision = written(t, s)
	a.SetNames(map[string][]names.Endpoint{n.ID: many})
	until(t, "b hears of many", func() bool { return len(b.Names(n.ID).Endpoints) == len(many) })
	if changes := written(t, s) - revision; changes > 5 {
		t.Errorf("%d names took %d changes", len(many), changes)
	}
	if all, total := b.RefusedNames(); total > 0 {
		t.Errorf("%v", all)
	}

	cell.Must(t, a.Close())
	again := open(t, s, "a", dir)
	if len(b.Names(n.ID).Endpoints) != len(many) {
		t.Error("names went with the agent")
	}
	again.SetNames(map[string][]names.Endpoint{n.ID: {named("one", first)}})
	until(t, "what the next agent does not have is taken back", hears(b, n.ID, "one"))
	again.SetNames(map[string][]names.Endpoint{n.ID: nil})
	until(t, "nothing is left", hears(b, n.ID))

	again.SetNames(map[string][]names.Endpoint{n.ID: {named("one", first)}})
	until(t, "it is back", hears(b, n.ID, "one"))
	cell.Must(t, b.RemoveHost(wait(t), s, "a", true))
	until(t, "the names of a removed host are gone", hears(b, n.ID))
	if left, err := s.Read(wait(t), cluster.Prefix+"hosts/a/"); err != nil || len(left.Entries) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestNamesOfALaterNetwork: names wait for their network, and go with it.
func TestNamesOfALaterNetwork(t *testing.T) {
	at := serve(t)
	s := dial(t, at)
	a, b := open(t, s, "a", t.TempDir()), open(t, dial(t, at), "b", t.TempDir())
	n := lan("web", "10.1.0.0/24")
	first := netip.MustParseAddr("10.1.0.2")
	a.SetNames(map[string][]names.Endpoint{n.ID: {named("one", first)}})
	n, err := a.CreateNetwork(wait(t), n, []netip.Prefix{netip.MustParsePrefix("10.1.0.0/29")})
	cell.Must(t, err)
	until(t, "b hears of it", hears(b, n.ID, "one"))
	cell.Must(t, a.YieldBlock(wait(t), n.ID, netip.MustParsePrefix("10.1.0.0/29")))
	until(t, "without its block the name is not there", hears(b, n.ID))
	if all, total := b.RefusedNames(); total != 1 || all[0].Writer != "a" {
		t.Errorf("%v", all)
	}
	cell.Must(t, b.DeleteNetwork(wait(t), n.ID))
	until(t, "nothing is left in the store", func() bool {
		left, err := s.Read(wait(t), cluster.Prefix+"hosts/a/names/")
		return err == nil && len(left.Entries) == 0
	})
}

// TestNamesAfterALoss: names that the store has lost are written again, and those that others
// wrote below this host's keys are taken away.
func TestNamesAfterALoss(t *testing.T) {
	at := serve(t)
	s := dial(t, at)
	a, b := open(t, s, "a", t.TempDir()), open(t, dial(t, at), "b", t.TempDir())
	n, err := a.CreateNetwork(wait(t), lan("web", "10.1.0.0/24"), []netip.Prefix{netip.MustParsePrefix("10.1.0.0/29")})
	cell.Must(t, err)
	a.SetNames(map[string][]names.Endpoint{n.ID: {named("one", netip.MustParseAddr("10.1.0.2"))}})
	until(t, "b hears of it", hears(b, n.ID, "one"))
	key := cluster.Prefix + "hosts/a/names/" + n.ID + "/"
	_, _, err = s.Commit(wait(t), store.Change{Delete: []string{key + "one/eth0"}, Put: []store.Entry{{Key: key + "two/eth0", Value: []byte("{")}}})
	cell.Must(t, err)
	until(t, "it is as it was", func() bool {
		left, err := s.Read(wait(t), key)
		return err == nil && len(left.Entries) == 1 && left.Entries[0].Key == key+"one/eth0" && hears(b, n.ID, "one")()
	})
}
