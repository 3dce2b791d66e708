package attack_test

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
	"github.com/heddle-network/heddle/test/forge"
	"github.com/heddle-network/heddle/test/world"
)

// forgedName is the form of a record of a name.
type forgedName struct {
	Host  string       `json:"host"`
	Name  string       `json:"name"`
	Addrs []netip.Addr `json:"addrs"`
}

// foreignNames writes names for a container of the first host, for addresses that nobody has, and
// for none at all. What is allowed is a name for an address of a block of the second host's own.
func foreignNames(t *testing.T, s *recordScene, _ string, open bool) bool {
	n, err := s.agent.Network(t.Context(), "app")
	if err != nil {
		t.Fatal(err)
	}
	victim := s.victim(t)
	at := func(a netip.Addr) forge.Record {
		return s.record(t, "", forgedName{s.second.ID, "evil", []netip.Addr{a}})
	}
	inFirst := at(victim)
	asFirst := s.record(t, "", forgedName{s.hostID(t, s.Name), "evil", []netip.Addr{victim}})
	records := []forge.Record{inFirst, asFirst, at(n.Gateways[0]), at(netip.MustParseAddr("10.10.0.129")), at(netip.MustParseAddr("8.8.8.8")),
		forge.Text("", "{"), forge.Text("", `{"name":"evil`+strings.Repeat("l", 70_000)+`"}`)}
	if open {
		block := "/heddle/blocks/" + n.ID + "/10.10.0.128/29"
		if err := s.forger.Write(s.record(t, block, map[string]string{"host": s.second.ID})); err != nil {
			t.Fatal(err)
		}
		defer s.forger.Delete(block)
		records = []forge.Record{at(netip.MustParseAddr("10.10.0.130"))}
	}
	for _, network := range []string{n.ID, "00000000000000ff"} {
		for _, r := range records {
			if network != n.ID && open {
				continue
			}
			r.Key = "/heddle/hosts/" + s.second.Name + "/names/" + network + "/evil/eth0"
			if err := s.forger.Write(r); err != nil {
				t.Fatal(err)
			}
			taken := s.taken(t, r.Key, open, func() bool { return s.hasName("evil") })
			if err := s.forger.Delete(r.Key); err != nil {
				t.Fatal(err)
			}
			if taken {
				t.Logf("%.80s is taken on", r.Value)
				return true
			}
			if !s.hasName("victim") {
				t.Error("a name of the first host's own is gone")
			}
		}
	}
	own := s.record(t, "/heddle/hosts/"+s.Name+"/names/"+n.ID+"/evil/eth0", forgedName{s.hostID(t, s.Name), "evil", []netip.Addr{victim}})
	if s.forger.Write(own) == nil {
		t.Log("the store lets a host write below another's name")
		return true
	}
	return false
}

// victim returns the address of a container with a name, on the first host.
func (s *recordScene) victim(t *testing.T) netip.Addr {
	t.Helper()
	add, err := s.first.Command(t.Context(), "sh", "-c", "test -e /run/netns/victim || ip netns add victim")
	if err == nil {
		err = add.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.agent.Attach(t.Context(), heddle.AttachRequest{Network: "app", ID: heddle.EndpointID{Container: "victim", IfName: "eth0"}, Netns: "/run/netns/victim", Name: "victim"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := s.agent.Detach(context.Background(), r.Endpoint.ID); err != nil {
			t.Error(err)
		}
	})
	if !within(world.RepairTime, func() bool { return s.hasName("victim") }) {
		t.Fatal("a name of the first host's own is not there")
	}
	return r.Endpoint.Addrs[0].Addr()
}

// hasName reports whether a table of the first host has a name.
func (s *recordScene) hasName(name string) bool {
	all, err := s.agent.Names(context.Background(), nil)
	if err == nil && slices.ContainsFunc(all, func(e names.Entry) bool { return strings.HasPrefix(e.Name, name) }) {
		return true
	}
	everywhere, err := s.agent.EndpointsEverywhere(context.Background(), nil)
	return err == nil && slices.ContainsFunc(everywhere, func(e heddle.Endpoint) bool { return strings.HasPrefix(e.Name, name) })
}

func (s *recordScene) hostID(t *testing.T, name string) string {
	t.Helper()
	all, err := s.agent.Hosts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range all {
		if h.Name == name {
			return h.ID
		}
	}
	t.Fatalf("there is no host %s", name)
	return ""
}
