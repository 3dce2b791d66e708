package netavark

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door"
	"github.com/heddle-network/heddle/names"
)

// fakeAgent keeps networks and endpoints in maps.
type fakeAgent struct {
	networks  map[string]heddle.Network
	made      map[heddle.EndpointID]heddle.AttachRequest
	holder    heddle.EndpointID // of the default route
	attachErr error
	detachErr error
	resolvers []netip.Addr
}

func (f *fakeAgent) Network(name string) (heddle.Network, error) {
	n, ok := f.networks[name]
	if !ok {
		return n, heddle.Errorf(heddle.NoNetwork, "show network", name, "", "")
	}
	return n, nil
}

func (f *fakeAgent) NetworkByID(id string) (heddle.Network, error) {
	for _, n := range f.networks {
		if n.ID == id {
			return n, nil
		}
	}
	return heddle.Network{}, heddle.Errorf(heddle.NoNetwork, "show network", id, "", "")
}

func (f *fakeAgent) CreateNetwork(n heddle.Network, dryRun bool) (heddle.Network, []string, error) {
	if old, exists := f.networks[n.Name]; exists {
		if old.Mode != n.Mode {
			return old, nil, heddle.Errorf(heddle.NetworkExists, "create network", n.Name, "", "change it with --mode")
		}
		return old, nil, nil
	}
	n.ID = fmt.Sprintf("0123456789abcde%x", 15-len(f.networks))
	if len(n.Subnets) == 0 {
		n.Subnets = []netip.Prefix{netip.MustParsePrefix("172.31.0.0/24")}
	}
	if len(n.Gateways) == 0 {
		for _, p := range n.Subnets {
			n.Gateways = append(n.Gateways, p.Addr().Next())
		}
	}
	if !dryRun {
		f.networks[n.Name] = n
	}
	return n, nil, nil
}

func (f *fakeAgent) Spans(string) bool { return false }

func (f *fakeAgent) Publishes(n heddle.Network) bool { return n.Mode != "macvlan" }

func (f *fakeAgent) Publish(_ context.Context, id heddle.EndpointID, ports []heddle.PortMapping) (heddle.Endpoint, error) {
	q := f.made[id]
	q.Ports = ports
	f.made[id] = q
	return heddle.Endpoint{ID: id, Ports: ports}, nil
}

func (f *fakeAgent) Attach(_ context.Context, q heddle.AttachRequest) (heddle.AttachReply, error) {
	n, err := f.NetworkByID(q.Network)
	e := heddle.Endpoint{ID: q.ID, Network: n.ID, NetworkName: n.Name, MAC: "0a:00:00:00:00:02", Ports: q.Ports}
	if q.MAC != "" {
		e.MAC = q.MAC
	}
	for _, p := range n.Subnets {
		a := p.Addr().Next().Next()
		if i := slices.IndexFunc(q.IPs, p.Contains); i >= 0 {
			a = q.IPs[i]
		}
		e.Addrs = append(e.Addrs, netip.PrefixFrom(a, p.Bits()))
	}
	if f.attachErr != nil {
		return heddle.AttachReply{}, f.attachErr
	}
	f.made[q.ID] = q
	if _, held := f.made[f.holder]; !held || q.DefaultRoute != nil && *q.DefaultRoute {
		f.holder = q.ID
	}
	return heddle.AttachReply{Endpoint: e, Gateways: n.Gateways, Resolvers: f.resolvers, Search: names.Search(n.Name)}, err
}

func (f *fakeAgent) Detach(_ context.Context, id heddle.EndpointID) (bool, error) {
	_, known := f.made[id]
	if f.detachErr == nil {
		delete(f.made, id)
	}
	return known, f.detachErr
}

func (f *fakeAgent) Endpoints() (all []heddle.Endpoint) {
	for id, q := range f.made {
		all = append(all, heddle.Endpoint{ID: id, Ports: q.Ports, DefaultRoute: id == f.holder})
	}
	return all
}

// caller is a handler in front of a fake agent, and who calls it.
type caller struct {
	*Handler
	agent *fakeAgent
	dir   string
	// note is that of the last answer.
	note *string
}

func newDoor(t testing.TB) caller {
	t.Helper()
	f, dir, log := &fakeAgent{networks: map[string]heddle.Network{}, made: map[heddle.EndpointID]heddle.AttachRequest{}}, t.TempDir(), slog.New(slog.DiscardHandler)
	return caller{&Handler{f, f, log, door.NewQueue(dir, f.Detach, log)}, f, dir, new(string)}
}

// ask calls a subcommand. It returns what the plugin would print and its exit code.
func (d caller) ask(t testing.TB, command, document string) (exit, body string) {
	t.Helper()
	r := httptest.NewRequest("POST", Path, strings.NewReader(document))
	r.Header.Set(headerCommand, command)
	r.Header.Set(headerNetns, "/run/netns/netns-1")
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	exit, body = w.Header().Get(door.ExitHeader), w.Body.String()
	*d.note = w.Header().Get(headerNote)
	if exit == "0" {
		if w.Code != http.StatusOK {
			t.Errorf("%s: exit 0 with HTTP status %d", command, w.Code)
		}
		return exit, body
	}
	var f failure
	if err := json.Unmarshal([]byte(body), &f); err != nil || !strings.Contains(f.Error, "[HDL-") {
		t.Errorf("%s: the answer is no error of netavark's with a code: %s", command, body)
	}
	return exit, body
}
