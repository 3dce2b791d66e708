package fleet_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// called gives a container a name and aliases.
func called(name string, aliases ...string) world.PodOption {
	return func(q *heddle.AttachRequest) { q.Name, q.Aliases = name, aliases }
}

// table reads the files of a network's names.
func (h *host) table(id string) (n names.Network, err error) {
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(h.Socket), "names", id+"*.json"))
	if err != nil || len(paths) == 0 {
		return n, cmp.Or(err, os.ErrNotExist)
	}
	files := make([]names.Network, len(paths))
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &files[i])
		}
		if err != nil {
			return n, err
		}
	}
	return names.Join(files), nil
}

// knows reports why a host's table does not say that a pod, on the host of that name ("" for the
// same one), has a name.
func (h *host) knows(network, name, on string, p *pod) error {
	n, err := h.table(network)
	if err != nil {
		return err
	}
	for _, e := range n.Endpoints {
		if e.ID == p.ID && e.Host == on && (e.Name == name || slices.Contains(e.Aliases, name)) && slices.Equal(e.Addrs, p.addrs()) {
			return nil
		}
	}
	return fmt.Errorf("%s is not in %+v", name, n.Endpoints)
}

func (h *host) forgot(network string, p *pod) error {
	n, err := h.table(network)
	if err == nil && slices.ContainsFunc(n.Endpoints, func(e names.Endpoint) bool { return e.ID == p.ID }) {
		err = fmt.Errorf("%s is in %+v", p.ID, n.Endpoints)
	}
	return err
}

// TestNames: a name is known on all hosts, moves with its endpoint, goes with it, and outlives
// agents and the store.
func TestNames(t *testing.T) {
	f := newCluster(t, 3, withResolver)
	one, two, three := f.hosts[0], f.hosts[1], f.hosts[2]
	f.network(t, "app", "10.10.0.0/16", "fd10::/64")
	n, err := one.Network(t.Context(), "app")
	if err != nil {
		t.Fatal(err)
	}
	web := one.attach(t, "web", "app", called("Web", "api"))
	if web.Endpoint.Name != "web" || !slices.Equal(web.Aliases, []string{"api"}) {
		t.Errorf("%+v", web.Endpoint)
	}
	nameless := two.attach(t, "nameless", "app")
	everyone := func(name, on string, p *pod) {
		t.Helper()
		f.everywhere(t, "name "+name+" is known", func(h *host) error {
			if h.Host.Name == on {
				return h.knows(n.ID, name, "", p)
			}
			return h.knows(n.ID, name, on, p)
		})
	}
	everyone("web", one.Host.Name, web)
	everyone("api", one.Host.Name, web)
	world.Within(t, time.Minute, "a container of this host may ask", func() error { return two.knows(n.ID, "", "", nameless) })
	if err := one.forgot(n.ID, nameless); err != nil {
		t.Errorf("of a container without a name another host hears: %v", err)
	}
	for h, listens := range map[*host]int{one: 2, two: 2, three: 0} {
		if table, err := h.table(n.ID); err != nil || len(table.Listen) != listens || table.Name != "app" || !slices.Equal(table.Subnets, n.Subnets) {
			t.Errorf("on %s: %+v, %v", h.Host.Name, table, err)
		}
	}

	if _, err := one.tryAttach("web", "app", called("web", "api")); err != nil {
		t.Errorf("attached again: %v", err)
	}
	if _, err := one.tryAttach("web", "app", called("other", "api")); !errors.Is(err, heddle.EndpointDiffers.Sentinel()) {
		t.Errorf("attached again under another name: %v", err)
	}

	again := three.attach(t, "again", "app", called("web"))
	everyone("web", three.Host.Name, again)
	if out := two.cli(t, "name", "show", "web.app.heddle.internal"); strings.Count(out, "clash") < 2 {
		t.Errorf("of a clash is told:\n%s", out)
	}
	if st, err := two.Status(t.Context()); err != nil || st.Part("names").State != "warn" || !strings.Contains(st.Part("names").Detail, "web on app") {
		t.Errorf("%+v, %v", st.Part("names"), err)
	}
	again.detach(t)
	f.everywhere(t, "a name goes with its endpoint", func(h *host) error { return h.forgot(n.ID, again) })
	if st, err := two.Status(t.Context()); err != nil || st.Part("names").State != "ok" {
		t.Errorf("%+v, %v", st.Part("names"), err)
	}

	f.hosts[0].cli(t, "endpoint", "move", "web", "--to", two.Host.Name)
	f.everywhere(t, "a name leaves with its endpoint", func(h *host) error { return h.forgot(n.ID, web) })
	moved := two.attach(t, "web", "app")
	if !slices.Equal(moved.Addrs, web.Addrs) || moved.Endpoint.Name != "web" || !slices.Equal(moved.Aliases, []string{"api"}) {
		t.Errorf("%+v moved to %+v", web.Endpoint, moved.Endpoint)
	}
	everyone("api", two.Host.Name, moved)

	two.kill(t)
	two.start(t)
	everyone("web", two.Host.Name, moved)
	outlives(t, f, n.ID, moved, everyone)
	moved.detach(t)
	nameless.detach(t)
	one.deleted(t, "app")
	f.everywhere(t, "the table goes with the network", func(h *host) error {
		_, err := h.table(n.ID)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("it is there: %v", err)
	})
}

// outlives has the store go away, an agent start without it, and names be made meanwhile.
func outlives(t *testing.T, f *fleet, network string, was *pod, everyone func(name, on string, p *pod)) {
	one, two, three := f.hosts[0], f.hosts[1], f.hosts[2]
	one.kill(t)
	three.kill(t)
	late := two.attach(t, "late", "app", called("late"))
	world.Within(t, time.Minute, "a name is known on its host without the store", func() error { return two.knows(network, "late", "", late) })
	two.kill(t)
	if err := one.knows(network, "web", two.Host.Name, was); err != nil {
		t.Errorf("after the agent's death: %v", err)
	}
	one.start(t) // alone: the store has no quorum
	time.Sleep(time.Second)
	if err := one.knows(network, "web", two.Host.Name, was); err != nil {
		t.Errorf("after a start without the store: %v", err)
	}
	two.start(t)
	three.start(t)
	everyone("late", two.Host.Name, late)
	everyone("web", two.Host.Name, was)
	late.detach(t)
	f.everywhere(t, "it is gone", func(h *host) error { return h.forgot(network, late) })
}

// TestNameTime measures how long it takes from an attach until a name is in the tables of all
// other hosts.
func TestNameTime(t *testing.T) {
	soak.Turn(t, 1)
	nameTime(t, 5, 40, time.Minute)
}

// TestSoakNameTime is TestNameTime at full size.
func TestSoakNameTime(t *testing.T) {
	soak.Need(t, "32 hosts")
	roomForNeighbours(t)
	nameTime(t, 32, 100, 2*time.Second)
}

func nameTime(t *testing.T, hosts, probes int, limit time.Duration) {
	f := newCluster(t, hosts)
	f.network(t, "app", "10.10.0.0/16", "fd10::/64")
	n, err := f.hosts[0].Network(t.Context(), "app")
	if err != nil {
		t.Fatal(err)
	}
	var first, last []time.Duration
	for i := range probes {
		h := f.hosts[i%hosts]
		p := h.attach(t, fmt.Sprint("p", i), "app", called(fmt.Sprint("p", i)))
		began, heard := time.Now(), 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		waiting := slices.DeleteFunc(slices.Clone(f.hosts), func(o *host) bool { return o == h })
		for len(waiting) > 0 && ctx.Err() == nil {
			waiting = slices.DeleteFunc(waiting, func(o *host) bool {
				if o.knows(n.ID, p.Endpoint.Name, h.Host.Name, p) != nil {
					return false
				}
				if heard++; heard == 1 {
					first = append(first, time.Since(began))
				}
				return true
			})
			time.Sleep(time.Millisecond)
		}
		cancel()
		if len(waiting) > 0 {
			t.Fatalf("%d hosts do not hear of %s", len(waiting), p.ID)
		}
		last = append(last, time.Since(began))
	}
	slices.Sort(first)
	slices.Sort(last)
	t.Logf("of %d hosts, a name was in the first other table %s after the attach (p99 %s), in all of them after %s (p99 %s)",
		hosts, first[len(first)/2], first[len(first)*99/100], last[len(last)/2], last[len(last)*99/100])
	if p99 := last[len(last)*99/100]; p99 > limit {
		t.Errorf("the p99 of %s is more than %s", p99, limit)
	}
	f.parallel(func(h *host) {
		all, err := h.Endpoints(context.Background())
		for _, e := range all {
			if err == nil {
				_, err = h.Detach(context.Background(), e.ID)
			}
		}
		if err != nil {
			t.Errorf("%s: %v", h.Host.Name, err)
		}
	})
}
