package cni

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door"
	"github.com/heddle-network/heddle/names"
)

// fakeAgent keeps endpoints in a map, and notes the calls it gets.
type fakeAgent struct {
	calls     []string
	networks  map[string]heddle.Network
	made      map[heddle.EndpointID]heddle.AttachRequest
	findings  []heddle.Finding
	detachErr error
	attachErr error
	resolvers []netip.Addr
	status    heddle.Status
}

func newFake() *fakeAgent {
	n := heddle.Network{ID: "0123456789abcdef", Name: "blue", Mode: "bridge",
		Subnets:  []netip.Prefix{netip.MustParsePrefix("10.20.0.0/24"), netip.MustParsePrefix("fd20::/64")},
		Gateways: []netip.Addr{netip.MustParseAddr("10.20.0.1"), netip.MustParseAddr("fd20::1")}}
	return &fakeAgent{networks: map[string]heddle.Network{"blue": n}, made: map[heddle.EndpointID]heddle.AttachRequest{}, status: heddle.Status{Ready: true}}
}

func (f *fakeAgent) note(words ...string) { f.calls = append(f.calls, strings.Join(words, " ")) }

func (f *fakeAgent) endpoint(id heddle.EndpointID) heddle.Endpoint {
	return heddle.Endpoint{ID: id, Network: "0123456789abcdef", NetworkName: "blue", MAC: "0a:00:00:00:00:07", MTU: 1500, DefaultRoute: true,
		Addrs: []netip.Prefix{netip.MustParsePrefix("10.20.0.7/24"), netip.MustParsePrefix("fd20::7/64")}}
}

func (f *fakeAgent) Attach(_ context.Context, q heddle.AttachRequest) (heddle.AttachReply, error) {
	f.note("attach", q.ID.String(), q.Network, q.Owner)
	if f.attachErr != nil {
		return heddle.AttachReply{}, f.attachErr
	}
	f.made[q.ID] = q
	return heddle.AttachReply{Endpoint: f.endpoint(q.ID), Gateways: f.networks["blue"].Gateways, PortName: q.ID.PortName(), PortMAC: q.ID.PortMAC(), Resolvers: f.resolvers, Search: names.Search("blue")}, nil
}

func (f *fakeAgent) Detach(_ context.Context, id heddle.EndpointID) (bool, error) {
	f.note("detach", id.String())
	_, known := f.made[id]
	if f.detachErr == nil {
		delete(f.made, id)
	}
	return known, f.detachErr
}

func (f *fakeAgent) Check(heddle.EndpointID) ([]heddle.Finding, error) { return f.findings, nil }

func (f *fakeAgent) Endpoint(id heddle.EndpointID) (heddle.Endpoint, error) {
	if _, ok := f.made[id]; !ok {
		return heddle.Endpoint{}, heddle.Errorf(heddle.NoEndpoint, "show endpoint", id.String(), "", "")
	}
	return f.endpoint(id), nil
}

func (f *fakeAgent) Endpoints() (all []heddle.Endpoint) {
	for id, q := range f.made {
		e := f.endpoint(id)
		e.Ports = q.Ports
		all = append(all, e)
	}
	return all
}

func (f *fakeAgent) GC(_ context.Context, owner string, keep []heddle.EndpointID) ([]string, error) {
	words := []string{"gc", owner}
	for _, id := range keep {
		words = append(words, id.String())
	}
	f.note(words...)
	return nil, nil
}

func (f *fakeAgent) Network(name string) (heddle.Network, error) {
	n, ok := f.networks[name]
	if !ok {
		return n, heddle.Errorf(heddle.NoNetwork, "show network", name, "", "")
	}
	return n, nil
}

func (f *fakeAgent) CreateNetwork(n heddle.Network, dryRun bool) (heddle.Network, []string, error) {
	f.note("create", n.Name, n.Mode)
	if old, ok := f.networks[n.Name]; ok && old.Mode != n.Mode {
		return old, nil, heddle.Errorf(heddle.NetworkExists, "create network", n.Name, "", "")
	}
	if !dryRun {
		n.ID = "fedcba9876543210"
		f.networks[n.Name] = n
	}
	return n, nil, nil
}

func (f *fakeAgent) Status() heddle.Status { return f.status }

// caller is a handler in front of a fake agent, and who calls it.
type caller struct {
	*Handler
	agent *fakeAgent
	dir   string
}

func newDoor(t *testing.T) caller {
	t.Helper()
	f, dir := newFake(), t.TempDir()
	log := slog.New(slog.DiscardHandler)
	return caller{newHandler(f, f, log, door.NewQueue(dir, f.Detach, log)), f, dir}
}

var pod = map[string]string{headerContainer: "c1", headerNetns: "/run/netns/c1", headerIfName: "eth0"}

// ask calls a verb; env is added to a working environment.
func (d caller) ask(t *testing.T, command, conf string, env map[string]string) (code int, body string) {
	t.Helper()
	r := httptest.NewRequest("POST", Path, strings.NewReader(conf))
	r.Header.Set(headerCommand, command)
	for _, all := range []map[string]string{pod, env} {
		for k, v := range all {
			r.Header.Set(k, v)
		}
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	body = w.Body.String()
	if w.Header().Get(door.ExitHeader) == "0" {
		if w.Code != http.StatusOK {
			t.Errorf("%s: exit 0 with HTTP status %d", command, w.Code)
		}
		return 0, body
	}
	var e errorResult
	if err := json.Unmarshal([]byte(body), &e); err != nil || e.Msg == "" || e.CNIVersion == "" {
		t.Fatalf("%s: answer is no CNI error: %s", command, body)
	}
	if !strings.Contains(e.Details, "[HDL-") {
		t.Errorf("%s: error without a stable id: %s", command, body)
	}
	return e.Code, body
}
