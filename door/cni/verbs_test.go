package cni

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/types/create"

	"github.com/heddle-network/heddle"
)

const plain = `{"cniVersion":"1.1.0","name":"blue","type":"heddle-cni"`

// TestResultVersions decodes the result of every version with the library's own
// types of that version.
func TestResultVersions(t *testing.T) {
	for _, version := range versions {
		conf := `{"cniVersion":"` + version + `","name":"blue","type":"heddle-cni","dns":{"nameservers":["10.20.0.1"]}}`
		code, body := newDoor(t).ask(t, "ADD", conf, nil)
		if code != 0 {
			t.Fatalf("%s: %s", version, body)
		}
		r, err := create.Create(version, []byte(body))
		if err != nil {
			t.Fatalf("%s: %v in %s", version, err, body)
		}
		if r.Version() != version {
			t.Errorf("result has version %s, want %s", r.Version(), version)
		}
		if has, want := strings.Contains(body, `"mtu"`), version == "1.1.0"; has != want {
			t.Errorf("%s: result has an MTU: %v", version, has)
		}
		got, err := current.NewResultFromResult(r)
		if err != nil {
			t.Fatal(err)
		}
		checkResult(t, version, got)
	}
}

func checkResult(t *testing.T, version string, r *current.Result) {
	t.Helper()
	id := heddle.EndpointID{Container: "c1", IfName: "eth0"}
	if len(r.Interfaces) != 2 || r.Interfaces[0].Name != id.PortName() || r.Interfaces[0].Sandbox != "" || r.Interfaces[0].Mac != string(id.PortMAC()) ||
		r.Interfaces[1].Name != "eth0" || r.Interfaces[1].Sandbox != "/run/netns/c1" || r.Interfaces[1].Mac != "0a:00:00:00:00:07" {
		t.Errorf("%s: interfaces %v", version, r.Interfaces)
	}
	var seen []string
	for _, ip := range r.IPs {
		if *ip.Interface != 1 {
			t.Errorf("%s: address %v on interface %d", version, ip.Address, *ip.Interface)
		}
		seen = append(seen, ip.Address.String()+" "+ip.Gateway.String())
	}
	for _, route := range r.Routes {
		seen = append(seen, route.Dst.String()+" "+route.GW.String())
	}
	want := []string{"10.20.0.7/24 10.20.0.1", "fd20::7/64 fd20::1", "0.0.0.0/0 10.20.0.1", "::/0 fd20::1"}
	if !slices.Equal(seen, want) {
		t.Errorf("%s: %v, want %v", version, seen, want)
	}
	if !slices.Equal(r.DNS.Nameservers, []string{"10.20.0.1"}) {
		t.Errorf("%s: dns %v", version, r.DNS)
	}
}

func TestPreviousResultIsMerged(t *testing.T) {
	conf := plain + `,"prevResult":{"cniVersion":"1.1.0","interfaces":[{"name":"lo","sandbox":"/run/netns/c1"}],"ips":[{"address":"127.0.0.1/8","interface":0}],"dns":{"domain":"x"}}}`
	code, body := newDoor(t).ask(t, "ADD", conf, nil)
	var r current.Result
	if err := json.Unmarshal([]byte(body), &r); code != 0 || err != nil {
		t.Fatal(code, body)
	}
	if len(r.Interfaces) != 3 || len(r.IPs) != 3 || *r.IPs[1].Interface != 2 || r.DNS.Domain != "x" {
		t.Errorf("merged: %s", body)
	}
}

// TestNameServers: the result names the network's resolvers, unless the configuration or the plugin
// before has others.
func TestNameServers(t *testing.T) {
	for name, c := range map[string]struct {
		more      string
		resolvers []netip.Addr
		want      []string
	}{
		"of the network":          {"", []netip.Addr{netip.MustParseAddr("10.20.0.1"), netip.MustParseAddr("fd20::1")}, []string{"10.20.0.1", "fd20::1"}},
		"none on this host":       {"", nil, nil},
		"of the configuration":    {`,"dns":{"nameservers":["192.0.2.53"]}`, []netip.Addr{netip.MustParseAddr("10.20.0.1")}, []string{"192.0.2.53"}},
		"of the plugin before it": {`,"prevResult":{"cniVersion":"1.1.0","dns":{"nameservers":["192.0.2.54"]}}`, []netip.Addr{netip.MustParseAddr("10.20.0.1")}, []string{"192.0.2.54"}},
	} {
		d := newDoor(t)
		d.agent.resolvers = c.resolvers
		code, body := d.ask(t, "ADD", plain+c.more+"}", nil)
		var r current.Result
		if err := json.Unmarshal([]byte(body), &r); code != 0 || err != nil {
			t.Fatal(code, body)
		}
		ours := len(c.want) > 0 && c.want[0] == "10.20.0.1"
		if !slices.Equal(r.DNS.Nameservers, c.want) || slices.Equal(r.DNS.Search, []string{"blue.heddle.internal", "heddle.internal"}) != ours {
			t.Errorf("%s: %+v", name, r.DNS)
		}
	}
}

// TestPodNames: a pod is called POD.NAMESPACE if that can be a name.
func TestPodNames(t *testing.T) {
	for args, want := range map[string]string{
		"": "", "K8S_POD_NAME=Web;K8S_POD_NAMESPACE=shop": "web.shop", "K8S_POD_NAME=web": "web", "K8S_POD_NAMESPACE=shop": "",
		"K8S_POD_NAME=a b;K8S_POD_NAMESPACE=shop": "", "K8S_POD_NAME=web;K8S_POD_NAMESPACE=" + strings.Repeat("n", 64): "", "K8S_POD_NAME=10.0;K8S_POD_NAMESPACE=0.1": "",
	} {
		d := newDoor(t)
		if code, body := d.ask(t, "ADD", plain+"}", map[string]string{headerArgs: args}); code != 0 {
			t.Fatal(args, body)
		}
		if got := d.agent.made[heddle.EndpointID{Container: "c1", IfName: "eth0"}].Name; got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	d := newDoor(t)
	d.agent.networks["blue"] = heddle.Network{ID: "0123456789abcdef", Name: "blue", Mode: "host"}
	if code, body := d.ask(t, "ADD", plain+"}", map[string]string{headerArgs: "K8S_POD_NAME=web"}); code != 0 || d.agent.made[heddle.EndpointID{Container: "c1", IfName: "eth0"}].Name != "" {
		t.Errorf("on a network without addresses: %s", body)
	}
}

func TestWrongVersions(t *testing.T) {
	for command, bad := range map[string][]string{
		"ADD": {"", "0.1.0", "0.2.0", "0.3.0", "1.2.0", "x", strings.Repeat("9", 4000)}, "CHECK": {"0.3.1"},
		"GC": {"1.0.0", "0.4.0"}, "STATUS": {"1.0.0", "0.3.1"},
	} {
		for _, version := range bad {
			code, body := newDoor(t).ask(t, command, `{"cniVersion":"`+version+`","name":"blue","cni.dev/valid-attachments":[]}`, nil)
			if code != badVersion || !strings.Contains(body, "HDL-5001") {
				t.Errorf("%s %.9q: code %d %s", command, version, code, body)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	long := strings.Repeat("a", 300)
	for _, c := range []struct {
		name, command, conf string
		env                 map[string]string
		code                int
		words               string
	}{
		{"broken JSON", "ADD", `{"cniVersion":`, nil, undecodable, "HDL-1009"},
		{"no object", "CHECK", `[]`, nil, undecodable, ""},
		{"broken JSON for DEL", "DEL", `{`, nil, undecodable, ""},
		{"nothing", "STATUS", ``, nil, undecodable, ""},
		{"no name", "ADD", `{"cniVersion":"1.1.0"}`, nil, badConf, "name"},
		{"slash in name", "ADD", `{"cniVersion":"1.1.0","name":"a/b"}`, nil, badConf, "a/b"},
		{"wrong type", "ADD", plain + `,"mtu":"big"}`, nil, badConf, "mtu"},
		{"unknown key", "ADD", plain + `,"subnt":"10.0.0.0/8"}`, nil, unsupportedField, "subnt"},
		{"ipam", "ADD", plain + `,"ipam":{"type":"host-local"}}`, nil, unsupportedField, "host-local"},
		{"icmp", "ADD", plain + `,"runtimeConfig":{"portMappings":[{"hostPort":1,"containerPort":1,"protocol":"ICMP"}]}}`, nil, unsupportedField, "ICMP"},
		{"unknown capability", "ADD", plain + `,"runtimeConfig":{"aliases":["web"]}}`, nil, unsupportedField, "aliases"},
		{"bandwidth below 0", "ADD", plain + `,"runtimeConfig":{"bandwidth":{"ingressRate":-1}}}`, nil, badConf, "ingressRate is -1"},
		{"bandwidth in words", "ADD", plain + `,"runtimeConfig":{"bandwidth":{"egressRate":"1M"}}}`, nil, badConf, "bandwidth"},
		{"port 0", "ADD", plain + `,"runtimeConfig":{"portMappings":[{"hostPort":0,"containerPort":1}]}}`, nil, badConf, "port 0"},
		{"port 65536", "ADD", plain + `,"runtimeConfig":{"portMappings":[{"hostPort":65536,"containerPort":1}]}}`, nil, badConf, "65536"},
		{"bad mac", "ADD", plain + `,"runtimeConfig":{"mac":"ff:ff:ff:ff:ff:ff"}}`, nil, badConf, "HDL-1004"},
		{"bad ip", "ADD", plain + `,"runtimeConfig":{"ips":["10.0.0"]}}`, nil, badConf, "10.0.0"},
		{"bad prefix", "ADD", plain + `,"runtimeConfig":{"ips":["10.0.0.1/99"]}}`, nil, badConf, "10.0.0.1/99"},
		{"definition without mode", "ADD", plain + `,"subnet":"10.0.0.0/24"}`, nil, badConf, "mode"},
		{"no network", "ADD", `{"cniVersion":"1.1.0","name":"red"}`, nil, badConf, "heddle network create red"},
		{"conflicting definition", "ADD", plain + `,"mode":"routed","subnet":"10.0.0.0/24"}`, nil, 105, "HDL-2003"},
		{"slash in id", "ADD", plain + `}`, map[string]string{headerContainer: "../x"}, badEnvironment, "../x"},
		{"dots as id", "DEL", plain + `}`, map[string]string{headerContainer: ".."}, badEnvironment, "HDL-1001"},
		{"long id", "DEL", plain + `}`, map[string]string{headerContainer: long}, badEnvironment, "HDL-1001"},
		{"no id", "DEL", plain + `}`, map[string]string{headerContainer: ""}, badEnvironment, "CNI_CONTAINERID"},
		{"long ifname", "ADD", plain + `}`, map[string]string{headerIfName: long}, badEnvironment, "HDL-1002"},
		{"no netns", "ADD", plain + `}`, map[string]string{headerNetns: ""}, badEnvironment, "CNI_NETNS"},
		{"unknown verb", "PLUG", plain + `}`, nil, badEnvironment, "PLUG"},
		{"unknown args", "ADD", plain + `}`, map[string]string{headerArgs: "COLOUR=red"}, badEnvironment, "COLOUR"},
		{"CHECK without prevResult", "CHECK", plain + `}`, nil, badConf, "prevResult"},
		{"CHECK of nobody", "CHECK", plain + `,"prevResult":{"cniVersion":"1.1.0"}}`, nil, unknownContainer, "HDL-2013"},
		{"GC without list", "GC", plain + `}`, nil, badConf, "valid-attachments"},
		{"STATUS without network", "STATUS", `{"cniVersion":"1.1.0","name":"red"}`, nil, notAvailable, "HDL-2002"},
	} {
		d := newDoor(t)
		code, body := d.ask(t, c.command, c.conf, c.env)
		if code != c.code || !strings.Contains(body, c.words) {
			t.Errorf("%s: code %d, want %d with %q: %s", c.name, code, c.code, c.words, body)
		}
		if len(d.agent.made) > 0 {
			t.Errorf("%s: something was attached", c.name)
		}
	}
}

func TestWishes(t *testing.T) {
	d := newDoor(t)
	conf := plain + `,"args":{"cni":{"ips":["10.20.0.9"],"labels":["x"]}},"runtimeConfig":{"mac":"0A-00-00-00-00-09",
		"portMappings":[{"hostPort":8080,"containerPort":80},{"hostPort":53,"containerPort":53,"protocol":"UDP","hostIP":"127.0.0.1"},{"hostPort":9,"containerPort":9,"protocol":"SCTP"}]}}`
	if code, body := d.ask(t, "ADD", conf, map[string]string{headerArgs: "IgnoreUnknown=1;K8S_POD_NAME=a b;K8S_POD_NAMESPACE=a\x1b;K8S_POD_INFRA_CONTAINER_ID=c1;IP=10.20.0.8;MAC=0a:00:00:00:00:08;X=y"}); code != 0 {
		t.Fatal(body)
	}
	q := d.agent.made[heddle.EndpointID{Container: "c1", IfName: "eth0"}]
	text, _ := json.Marshal(q)
	want := `{"network":"blue","id":{"container":"c1","ifname":"eth0"},"netns":"/run/netns/c1","ips":["10.20.0.9"],"mac":"0a:00:00:00:00:09",` +
		`"ports":[{"hostPort":8080,"containerPort":80,"protocol":"tcp"},{"hostIP":"127.0.0.1","hostPort":53,"containerPort":53,"protocol":"udp"},{"hostPort":9,"containerPort":9,"protocol":"sctp"}],"noFastPath":true,"labels":{"io.kubernetes.pod.name":"a b"},"owner":"cni/blue"}`
	if string(text) != want {
		t.Errorf("request\n%s\nwant\n%s", text, want)
	}
	if code, _ := d.ask(t, "ADD", plain+`,"runtimeConfig":{"ips":["10.20.0.7/24","fd20::7/64"],"mac":""}}`, map[string]string{headerArgs: "IP=10.20.0.8"}); code != 0 {
		t.Fatal("ips with prefixes")
	}
	q = d.agent.made[q.ID]
	if text, _ = json.Marshal(q.IPs); string(text) != `["10.20.0.7","fd20::7"]` {
		t.Errorf("ips %s", text)
	}
}

// TestBandwidth reads the capability of that name, whose bursts are in bits; the largest there is means none in particular.
func TestBandwidth(t *testing.T) {
	for text, want := range map[string]heddle.RateLimits{
		`{"ingressRate":1000000,"ingressBurst":800000,"egressRate":2000000,"egressBurst":4294967295}`: {In: heddle.RateLimit{Rate: 1e6, Burst: 1e5}, Out: heddle.RateLimit{Rate: 2e6}},
		`{"ingressRate":1000000,"ingressBurst":2147483647,"egressRate":0,"egressBurst":8}`:            {In: heddle.RateLimit{Rate: 1e6}},
		`{}`: {}, `null`: {},
	} {
		d := newDoor(t)
		if code, body := d.ask(t, "ADD", plain+`,"runtimeConfig":{"bandwidth":`+text+`}}`, nil); code != 0 {
			t.Fatal(body)
		}
		if have := d.agent.made[heddle.EndpointID{Container: "c1", IfName: "eth0"}].Limits; have != want {
			t.Errorf("%s: limits %+v, want %+v", text, have, want)
		}
	}
}

// TestPublishedOnce leaves a container's ports to the interface that has them:
// the same ones are named again for a second network.
func TestPublishedOnce(t *testing.T) {
	d := newDoor(t)
	port := func(n int) string { return fmt.Sprintf(`{"hostPort":%d,"containerPort":80}`, n) }
	for _, c := range []struct{ ifname, ports, want string }{
		{"eth0", port(8080), "[8080:80/tcp]"},
		{"eth0", port(8080), "[8080:80/tcp]"},
		{"eth1", port(8080) + "," + port(8081), "[8081:80/tcp]"},
		{"eth0", port(8080), "[8080:80/tcp]"},
	} {
		if code, body := d.ask(t, "ADD", plain+`,"runtimeConfig":{"portMappings":[`+c.ports+`]}}`, map[string]string{headerIfName: c.ifname}); code != 0 {
			t.Fatal(body)
		}
		q := d.agent.made[heddle.EndpointID{Container: "c1", IfName: c.ifname}]
		if got := fmt.Sprint(q.Ports); got != c.want {
			t.Errorf("%s gets %s, want %s", c.ifname, got, c.want)
		}
	}
}

func TestInlineDefinition(t *testing.T) {
	d := newDoor(t)
	conf := `{"cniVersion":"1.0.0","name":"green","mode":"bridge","subnets":["10.30.0.0/24"],"gateway":"10.30.0.1","options":{"broadcast":"true"}}`
	for range 3 {
		if code, body := d.ask(t, "ADD", conf, nil); code != 0 {
			t.Fatal(body)
		}
	}
	attach := "attach c1/eth0 green cni/green"
	if want := []string{"create green bridge", attach, attach, attach}; !slices.Equal(d.agent.calls, want) {
		t.Errorf("calls %q, want %q", d.agent.calls, want)
	}
	if code, body := d.ask(t, "ADD", strings.Replace(conf, "bridge", "routed", 1), nil); code != 105 {
		t.Errorf("another definition: %s", body)
	}
}

func TestGCKeepsWhatIsListed(t *testing.T) {
	d := newDoor(t)
	for _, list := range []string{`[{"containerID":"c1","ifname":"eth0"},{"containerID":"c2","ifname":"net1"}]`, `[]`, `null`} {
		if code, body := d.ask(t, "GC", plain+`,"cni.dev/valid-attachments":`+list+`,"cni.dev/future":1}`, nil); code != 0 || body != "" {
			t.Error(code, body)
		}
	}
	if want := []string{"gc cni/blue c1/eth0 c2/net1", "gc cni/blue", "gc cni/blue"}; !slices.Equal(d.agent.calls, want) {
		t.Errorf("calls %q, want %q", d.agent.calls, want)
	}
}

// TestNobodyWaitsForGC: ADD and DEL are answered while a GC is under way.
func TestNobodyWaitsForGC(t *testing.T) {
	d := newDoor(t)
	begun, release, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	d.Handler.endpoints = slowGC{d.agent, begun, release}
	go func() {
		defer close(done)
		if code, body := d.ask(t, "GC", plain+`,"cni.dev/valid-attachments":[]}`, nil); code != 0 {
			t.Error(body)
		}
	}()
	<-begun
	for _, verb := range []string{"ADD", "DEL"} {
		if code, body := d.ask(t, verb, plain+"}", nil); code != 0 {
			t.Error(verb, body)
		}
	}
	close(release)
	<-done
}

// slowGC is a fake agent that collects until it is told to end.
type slowGC struct {
	*fakeAgent
	begun, release chan struct{}
}

func (s slowGC) GC(context.Context, string, []heddle.EndpointID) ([]string, error) {
	close(s.begun)
	<-s.release
	return nil, nil
}

func TestStatus(t *testing.T) {
	d := newDoor(t)
	for _, c := range []struct {
		s    heddle.Status
		code int
	}{
		{heddle.Status{Ready: true, Networks: []heddle.NetworkStatus{{Name: "blue", Free: 1}}}, 0},
		{heddle.Status{Ready: true, Networks: []heddle.NetworkStatus{{Name: "blue", Free: -1}}}, 0},
		{heddle.Status{Ready: true, Networks: []heddle.NetworkStatus{{Name: "blue", Free: 0}}}, notAvailable},
		{heddle.Status{}, notAvailable},
		{heddle.Status{Ready: true, Parts: []heddle.PartStatus{{Name: "firewall", State: "bad"}}}, limited},
		{heddle.Status{Ready: true, Parts: []heddle.PartStatus{{Name: heddle.PartWork, State: "bad"}}, Late: []heddle.Late{{What: "repair", Network: "other"}}}, 0},
		{heddle.Status{Ready: true, Late: []heddle.Late{{What: "repair", Network: "blue"}}}, limited},
	} {
		d.agent.status = c.s
		if code, body := d.ask(t, "STATUS", plain+"}", nil); code != c.code {
			t.Errorf("%+v: code %d %s", c.s, code, body)
		}
	}
	d.agent.status = heddle.Status{Ready: true}
	if code, body := d.ask(t, "STATUS", `{"cniVersion":"1.1.0","name":"new","mode":"bridge","subnet":"10.9.0.0/24"}`, nil); code != 0 {
		t.Error(body)
	}
	if _, made := d.agent.networks["new"]; made {
		t.Error("STATUS created a network")
	}
}

func TestCheckAcceptsTuning(t *testing.T) {
	d := newDoor(t)
	_, body := d.ask(t, "ADD", plain+"}", nil)
	edited := strings.NewReplacer("0a:00:00:00:00:07", "0a:00:00:00:00:aa", `"mtu":1500,"name":"eth0"`, `"mtu":1400,"name":"eth0"`).Replace(body)
	if edited == body {
		t.Fatal(body)
	}
	for _, c := range []struct {
		name, result, detail string
		code                 int
	}{
		{"nothing", body, "", 0},
		{"mac and mtu as remembered", edited, "want mtu 1500, have 1400; want mac 0a:00:00:00:00:07, have 0a:00:00:00:00:aa", 0},
		{"mtu not remembered", body, "want mtu 1500, have 1400", 0},
		{"mac not remembered", body, "want mac 0a:00:00:00:00:07, have 0a:00:00:00:00:aa", 101},
		{"another mac", edited, "want mtu 1500, have 1400; want mac 0a:00:00:00:00:07, have 0a:00:00:00:00:bb", 101},
		{"down", edited, "want mtu 1500, have 1400; want up, have down", 101},
	} {
		d.agent.findings = nil
		if c.detail != "" {
			d.agent.findings = []heddle.Finding{{Kind: "differs", Object: "link/eth0", Detail: c.detail}}
		}
		if code, out := d.ask(t, "CHECK", plain+`,"prevResult":`+c.result+"}", nil); code != c.code {
			t.Errorf("%s: code %d %s", c.name, code, out)
		}
	}
	d.agent.findings = []heddle.Finding{{Kind: "missing", Object: "address/eth0/10.20.0.7/24"}}
	if code, _ := d.ask(t, "CHECK", plain+`,"prevResult":`+body+"}", nil); code != 101 {
		t.Error("a missing address passed")
	}
	d.agent.findings = nil
	for _, r := range []string{strings.Replace(body, "10.20.0.7/24", "10.20.0.8/24", 1), strings.ReplaceAll(body, "eth0", "eth1")} {
		if code, _ := d.ask(t, "CHECK", plain+`,"prevResult":`+r+"}", nil); code != badConf {
			t.Error("a result of somebody else passed:", r)
		}
	}
}

func TestQueueComesFirst(t *testing.T) {
	d := newDoor(t)
	leave := func(name string) {
		if err := os.WriteFile(filepath.Join(d.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leave("c1@eth0")
	leave("..@x")
	leave("stranger")
	if code, body := d.ask(t, "ADD", plain+"}", nil); code != 0 {
		t.Fatal(body)
	}
	if want := []string{"detach c1/eth0", "attach c1/eth0 blue cni/blue"}; !slices.Equal(d.agent.calls, want) {
		t.Errorf("calls %q, want %q", d.agent.calls, want)
	}
	left, _ := filepath.Glob(filepath.Join(d.dir, "*"))
	if len(left) != 2 {
		t.Errorf("left in the queue: %q", left)
	}
	leave("c1@eth0")
	d.agent.detachErr = heddle.Errorf(heddle.KernelRefused, "x", "y", "", "")
	if code, body := d.ask(t, "ADD", plain+"}", nil); code != tryAgainLater {
		t.Error("an ADD overtook a DEL that failed:", body)
	}
	if code, _ := d.ask(t, "ADD", plain+"}", map[string]string{headerContainer: "c2"}); code != 0 {
		t.Error("the ADD of another container failed")
	}
	if code, _ := d.ask(t, "DEL", plain+"}", nil); code != 101 {
		t.Error("a DEL hid an error of the kernel")
	}
}

func TestDelNeedsOnlyTheID(t *testing.T) {
	for _, conf := range []string{"", "{}", "null", `{"cniVersion":"9.9.9"}`, `{"cniVersion":"1.1.0","name":"gone","ipam":{"type":"x"}}`} {
		code, body := newDoor(t).ask(t, "DEL", conf, map[string]string{headerNetns: "", headerArgs: "rubbish"})
		if code != 0 || body != "" {
			t.Errorf("%q: code %d %s", conf, code, body)
		}
	}
}

func TestStoppingIsTemporary(t *testing.T) {
	d := newDoor(t)
	d.agent.attachErr = heddle.Errorf(heddle.Stopping, "attach", "c1", "", "")
	if code, body := d.ask(t, "ADD", plain+"}", nil); code != tryAgainLater {
		t.Error(body)
	}
}

// TestCodes keeps the table of codes in step with the agent's.
func TestCodes(t *testing.T) {
	for c := range codes {
		if _, ok := heddle.Explain(c); !ok {
			t.Errorf("%s has no explanation", c)
		}
	}
	if !reflect.DeepEqual(errorReply("1.0.0", heddle.Wrap(heddle.KernelRefused, "make", "link/x", os.ErrExist, "do this")),
		errorResult{"1.0.0", 101, "make link/x: file already exists", "do this [HDL-3002]"}) {
		t.Error(errorReply("1.0.0", heddle.Wrap(heddle.KernelRefused, "make", "link/x", os.ErrExist, "do this")))
	}
}

// TestNothingHidden: a runtime shows an error's words as they are.
func TestNothingHidden(t *testing.T) {
	const hostile = "\x1b[2J\u009b31m\u202egnp.exe"
	known := heddle.Wrap(heddle.KernelRefused, "make", hostile, errors.New(hostile), hostile)
	for _, err := range []error{known, errors.New(hostile)} {
		reply := errorReply("1.0.0", err)
		for _, text := range []string{reply.Msg, reply.Details} {
			if strings.ContainsAny(text, hostile[:1]+"\u009b\u202e") {
				t.Errorf("%q", text)
			}
		}
		if !strings.Contains(reply.Msg, `\x1b[2J\u009b31m\u202egnp.exe`) {
			t.Errorf("%q", reply.Msg)
		}
	}
}
