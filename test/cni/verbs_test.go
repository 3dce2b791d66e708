package cni_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// TestEveryVersion adds, checks and deletes in each version of the
// specification, and finds in the container what the result says.
func TestEveryVersion(t *testing.T) {
	h := newHost(t)
	for i, version := range []string{"0.3.1", "0.4.0", "1.0.0", "1.1.0"} {
		l, c := chain(t, version, bridge), container(t, fmt.Sprintf("c%d", i))
		r := h.mustAdd(l, c)
		if len(r.Interfaces) != 2 || len(r.IPs) != 2 || len(r.Routes) != 2 {
			t.Fatalf("%s: %+v", version, r)
		}
		inside := cell.Sh(t, "ip netns exec %s sh -c 'ip -o address show eth0; ip -o link show eth0; ip route; ip -6 route'", c.ContainerID)
		for _, want := range []string{r.IPs[0].Address.String(), r.IPs[1].Address.String(), r.Interfaces[1].Mac,
			"default via " + r.Routes[0].GW.String(), "default via " + r.Routes[1].GW.String()} {
			if !strings.Contains(inside, want) {
				t.Errorf("%s: %s is not in the container:\n%s", version, want, inside)
			}
		}
		cell.Sh(t, "ip link show %s", r.Interfaces[0].Name)
		if version != "0.3.1" {
			if err := h.CheckNetworkList(ctx, l, c); err != nil {
				t.Errorf("%s: CHECK: %v", version, err)
			}
		}
		cell.Sh(t, "ip netns exec %s ping -c1 -w30 192.0.2.2", c.ContainerID)
		h.mustDel(l, c)
		if code(h.CheckNetworkList(ctx, l, c)) == 0 && version == "1.1.0" {
			t.Error("CHECK after DEL passed")
		}
	}
}

// TestAddTwice returns the same result; another wish is refused.
func TestAddTwice(t *testing.T) {
	h := newHost(t)
	c := container(t, "c1")
	conf := `{"cniVersion":"1.1.0","name":"blue",` + bridge + `}`
	first, _ := h.raw("ADD", conf, "c1", "eth0", c.NetNS)
	second, failure := h.raw("ADD", conf, "c1", "eth0", c.NetNS)
	if first == "" || first != second {
		t.Errorf("first  %s\nsecond %s %v", first, second, failure)
	}
	if _, failure := h.raw("ADD", conf, "c1", "eth0", c.NetNS, "CNI_ARGS=IP=10.20.0.99"); failure == nil || failure.Code != 105 {
		t.Errorf("with another address: %v", failure)
	}
	h.raw("DEL", conf, "c1", "eth0", "")
	cell.Sh(t, "ip -n c1 link add eth0 type veth peer name far")
	_, failure = h.raw("ADD", conf, "c1", "eth0", c.NetNS)
	if failure == nil || !strings.Contains(failure.Details, string(heddle.IfNameTaken)) {
		t.Errorf("over a stranger's interface: %v", failure)
	}
	cell.Sh(t, "ip -n c1 link show far")
	if _, failure := h.raw("ADD", conf, "c1", "eth0", "/proc/self/ns/net"); failure == nil || failure.Code != 4 {
		t.Errorf("into the host's namespace: %v", failure)
	}
}

// TestWishes asks for MAC and addresses by each of the three ways.
func TestWishes(t *testing.T) {
	h := newHost(t)
	l := chain(t, "1.1.0", bridge)
	for i, c := range []*libcni.RuntimeConf{
		{CapabilityArgs: map[string]any{"mac": "0a:00:00:00:00:42", "ips": []string{"10.20.0.42/24", "fd20::42"}}},
		{Args: [][2]string{{"IgnoreUnknown", "1"}, {"K8S_POD_NAME", "p"}, {"IP", "10.20.0.42,fd20::42"}, {"MAC", "0a:00:00:00:00:42"}}},
	} {
		c.ContainerID, c.IfName = fmt.Sprintf("w%d", i), "net1"
		c.NetNS = cell.Netns(t, c.ContainerID)
		r := h.mustAdd(l, c)
		got := r.Interfaces[1].Mac + " " + r.IPs[0].Address.String() + " " + r.IPs[1].Address.String()
		if want := "0a:00:00:00:00:42 10.20.0.42/24 fd20::42/64"; got != want {
			t.Errorf("%+v: %s, want %s", c, got, want)
		}
		inside := cell.Sh(t, "ip -n %s -o link show net1; ip -n %[1]s -o address show net1", c.ContainerID)
		if !strings.Contains(inside, "0a:00:00:00:00:42") || !strings.Contains(inside, "10.20.0.42/24") || !strings.Contains(inside, "fd20::42/64") {
			t.Error(inside)
		}
		h.mustDel(l, c)
	}
	c := container(t, "w9")
	c.CapabilityArgs = map[string]any{"ips": []string{"10.99.0.1"}}
	if _, err := h.AddNetworkList(ctx, l, c); code(err) != 105 {
		t.Errorf("an address of another network: %v", err)
	}
}

// TestDelAlwaysSucceeds deletes in every order and state.
func TestDelAlwaysSucceeds(t *testing.T) {
	h := newHost(t)
	l := chain(t, "1.1.0", bridge)
	before := container(t, "before")
	h.mustDel(l, before)

	twice := container(t, "twice")
	h.mustAdd(l, twice)
	h.mustDel(l, twice)
	h.mustDel(l, twice)

	gone := container(t, "gone")
	h.mustAdd(l, gone)
	cell.Sh(t, "ip netns del gone")
	h.mustDel(l, gone)

	noNetns := container(t, "nonetns")
	h.mustAdd(l, noNetns)
	if _, failure := h.raw("DEL", `{"cniVersion":"9.9.9","name":"another"}`, "nonetns", "eth0", ""); failure != nil {
		t.Errorf("DEL with another configuration: %v", failure)
	}

	failed := container(t, "failed")
	failed.CapabilityArgs = map[string]any{"ips": []string{"10.99.0.1"}}
	if _, err := h.AddNetworkList(ctx, l, failed); err == nil {
		t.Error("ADD with a wrong address passed")
	}
	h.mustDel(l, failed)

	deleted := container(t, "deleted")
	h.mustAdd(l, deleted)
	h.mustDel(l, deleted)
	if err := h.DeleteNetwork(ctx, "blue"); err != nil {
		t.Fatal(err)
	}
	h.mustDel(l, deleted)
	h.AuditEmpty(t)
}

// TestAgentDown queues a DEL, which the agent executes when it starts, and
// before an ADD of the same id.
func TestAgentDown(t *testing.T) {
	h := newHost(t)
	l := chain(t, "1.1.0", bridge)
	c1, c2 := container(t, "c1"), container(t, "c2")
	h.mustAdd(l, c1)
	first := h.mustAdd(l, c2)
	h.Stop()
	if _, err := h.AddNetworkList(ctx, l, container(t, "c3")); code(err) != 11 || !strings.Contains(err.Error(), "HDL-4001") {
		t.Errorf("ADD: %v", err)
	}
	if err := h.CheckNetworkList(ctx, l, c1); code(err) != 11 {
		t.Errorf("CHECK: %v", err)
	}
	if err := h.GetStatusNetworkList(ctx, l); code(err) != 50 {
		t.Errorf("STATUS: %v", err)
	}
	if err := h.GCNetworkList(ctx, list(t, `{"cniVersion":"1.1.0","name":"other","plugins":[{"type":"heddle-cni"}]}`), &libcni.GCArgs{}); !strings.Contains(fmt.Sprint(err), "HDL-4001") {
		t.Errorf("GC: %v", err)
	}
	h.mustDel(l, c1)
	h.mustDel(l, c1)
	if queued := queue(h); len(queued) != 1 {
		t.Errorf("queue %q", queued)
	}
	h.Agent = cell.Start(t, h.dir)
	if left := queue(h); len(left) > 0 {
		t.Errorf("queue after the start %q", left)
	}
	if _, err := h.Endpoint(ctx, heddle.EndpointID{Container: "c1", IfName: "eth0"}); err == nil {
		t.Error("the queued DEL was not executed")
	}
	// an entry that appears while the agent runs, as when it was starting
	os.WriteFile(filepath.Join(h.dir, "state", "cni-queue", "c2@eth0"), nil, 0o600)
	second := h.mustAdd(l, c2)
	if first.IPs[0].Address.IP.Equal(second.IPs[0].Address.IP) || len(queue(h)) > 0 {
		t.Errorf("the ADD overtook the DEL: %v, then %v, queue %q", first.IPs, second.IPs, queue(h))
	}
	h.mustDel(l, c2)
}

func queue(h *host) []string {
	names, _ := filepath.Glob(filepath.Join(h.dir, "state", "cni-queue", "*"))
	return names
}

// TestGC frees exactly what is not listed, and only what this configuration
// attached.
func TestGC(t *testing.T) {
	h := newHost(t)
	l := chain(t, "1.1.0", bridge)
	var all []*libcni.RuntimeConf
	for _, id := range []string{"keep", "drop1", "drop2"} {
		c := container(t, id)
		h.mustAdd(l, c)
		all = append(all, c)
	}
	other := list(t, `{"cniVersion":"1.1.0","name":"other","plugins":[{"type":"heddle-cni","network":"blue"}]}`)
	stranger, byHand := container(t, "stranger"), cell.Netns(t, "byhand")
	h.mustAdd(other, stranger)
	if _, err := h.Attach(ctx, heddle.AttachRequest{Network: "blue", ID: heddle.EndpointID{Container: "byhand", IfName: "eth0"}, Netns: byHand, Owner: "cli"}); err != nil {
		t.Fatal(err)
	}
	// another cache: libcni itself deletes what it remembers, before it calls
	fresh := libcni.NewCNIConfigWithCacheDir([]string{h.plugins}, t.TempDir(), nil)
	if err := fresh.GCNetworkList(ctx, l, &libcni.GCArgs{ValidAttachments: []types.GCAttachment{{ContainerID: "keep", IfName: "eth0"}}}); err != nil {
		t.Fatal(err)
	}
	if got := endpoints(h); got != "byhand/eth0 keep/eth0 stranger/eth0" {
		t.Errorf("left: %s", got)
	}
	if err := h.CheckNetworkList(ctx, l, all[0]); err != nil {
		t.Errorf("CHECK of the kept: %v", err)
	}
	if err := fresh.GCNetworkList(ctx, l, &libcni.GCArgs{}); err != nil {
		t.Fatal(err)
	}
	if got := endpoints(h); got != "byhand/eth0 stranger/eth0" {
		t.Errorf("left after GC of all: %s", got)
	}
	h.mustDel(other, stranger)
	if _, err := h.Detach(ctx, heddle.EndpointID{Container: "byhand", IfName: "eth0"}); err != nil {
		t.Fatal(err)
	}
}

func endpoints(h *host) string {
	all, err := h.Endpoints(ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	var ids []string
	for _, e := range all {
		ids = append(ids, e.ID.String())
	}
	return strings.Join(ids, " ")
}

func TestStatus(t *testing.T) {
	h := newHost(t)
	small := `"mode":"bridge","subnet":"10.20.0.0/30"`
	if err := h.GetStatusNetworkList(ctx, chain(t, "1.1.0", small)); err != nil {
		t.Errorf("before the first ADD: %v", err)
	}
	if all, _ := h.Networks(ctx); len(all) > 0 {
		t.Error("STATUS created a network")
	}
	if err := h.GetStatusNetworkList(ctx, list(t, `{"cniVersion":"1.1.0","name":"nowhere","plugins":[{"type":"heddle-cni"}]}`)); code(err) != 50 {
		t.Errorf("without a network: %v", err)
	}
	l, c := chain(t, "1.1.0", small), container(t, "c1")
	h.mustAdd(l, c)
	if err := h.GetStatusNetworkList(ctx, l); code(err) != 50 || !strings.Contains(err.Error(), string(heddle.PoolExhausted)) {
		t.Errorf("without an address: %v", err)
	}
	if _, err := h.AddNetworkList(ctx, l, container(t, "c2")); code(err) != 105 {
		t.Errorf("ADD without an address: %v", err)
	}
	h.mustDel(l, c)
}
