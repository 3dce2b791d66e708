package lab_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lab"
)

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lab.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// raise makes the lab of a topology file, to be taken down without a trace.
func raise(t *testing.T, text string) *lab.Lab {
	t.Helper()
	needRoot(t)
	before := survey(t)
	topology, err := lab.Read(write(t, text))
	if err != nil {
		t.Fatal(err)
	}
	topology.Dir = t.TempDir()
	l, err := lab.Raise(t.Context(), topology)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(context.Background()); err != nil {
			t.Error(err)
		}
		noTrace(t, before, topology.Dir)
	})
	return l
}

// Two sites with a narrow wire between their routers: everybody is reached, and
// the routers say by ICMP what is too large.
func TestRouters(t *testing.T) {
	l := raise(t, `
name: sites
agent: {off: true}
switches:
  - name: left
  - {name: middle, mtu: 1400}
  - name: right
    subnets: [10.9.0.0/24, "fd09::/64"]
hosts:
  - name: a
    nics: [{switch: left}]
  - name: r1
    router: true
    nics: [{switch: left}, {switch: middle}]
  - name: r2
    router: true
    nics: [{switch: middle}, {switch: right, addresses: [10.9.0.254/24, "fd09::fe/64"]}]
  - name: b
    nics: [{switch: right, rate: 1gbit}]
    sysctls: {net.ipv4.tcp_congestion_control: reno}
`)
	for _, far := range []string{"10.9.0.14", "fd09::14", "b"} {
		reaches(t, l, "a", far, true)
	}
	reaches(t, l, "b", "172.31.240.11", true)
	for _, family := range [][3]string{{"-4", "10.9.0.14", "1472"}, {"-6", "fd09::14", "1452"}} {
		out, err := try(t, l, "a", "ping", "-n", family[0], "-c2", "-i0.2", "-W20", "-M", "do", "-s", family[2], family[1])
		if err == nil || !strings.Contains(out, "mtu = 1400") && !strings.Contains(out, "mtu=1400") {
			t.Errorf("no word of the path's MTU: %v\n%s", err, out)
		}
		if out := in(t, l, "a", "ip", family[0], "route", "get", family[1]); !strings.Contains(out, "mtu 1400") {
			t.Errorf("the route has no MTU: %s", out)
		}
	}
	// Frames between different switches are dropped by address.
	if err := l.Cut(t.Context(), "a", "b", false); err != nil {
		t.Fatal(err)
	}
	reaches(t, l, "a", "10.9.0.14", false)
	reaches(t, l, "b", "fd99:172:31:240::11", false)
	reaches(t, l, "a", "10.9.0.254", true)
	if err := l.Heal(t.Context(), "b", ""); err != nil {
		t.Fatal(err)
	}
	// The path shrinks while it is used.
	if err := l.SetMTU(t.Context(), "middle", 1300, false); err != nil {
		t.Fatal(err)
	}
	reaches(t, l, "b", "172.31.240.11", true)
	out, _ := try(t, l, "b", "ping", "-n", "-c2", "-i0.2", "-W20", "-M", "do", "-s", "1350", "172.31.240.11")
	if !strings.Contains(out, "1300") {
		t.Errorf("no word of the new MTU:\n%s", out)
	}
	if qdisc := in(t, l, "b", "tc", "qdisc", "show", "dev", "eth0", "root"); !strings.Contains(qdisc, "1Gbit") {
		t.Error(qdisc)
	}
}

func TestDaemons(t *testing.T) {
	agent, _ := json.Marshal(testAgent(t))
	l := raise(t, `
agent:
  command: `+string(agent)+`
  environment: {HEDDLE_CLOCK: 2h}
hosts:
  - name: one
    agent: {args: [--say, " first"]}
    daemons:
      - name: prepare
        command: [sh, -c, "test ! -e /run/heddle/heddle.sock && sleep 0.3 && echo $WORD >/run/prepared"]
        environment: {WORD: done}
        ready: {exit: true}
      - name: second
        command: [sh, -c, "mv /run/prepared /run/found && sleep 1001"]
        ready: {command: [test, -e, /run/found]}
      - name: last
        afterAgent: true
        command: [sh, -c, "test -S /run/heddle/heddle.sock && touch /run/last && sleep 1001"]
        ready: {command: [test, -e, /run/last], within: 10s}
  - name: two
`)
	in(t, l, "one", "test", "!", "-e", "/run/qmp") // no machine has slots
	if _, err := os.Stat(filepath.Join(l.Folder(), "qmp")); err == nil {
		t.Error("a folder of management sockets")
	}
	if got := in(t, l, "one", "cat", "/run/found"); got != "done" {
		t.Errorf("prepared: %q", got)
	}
	if got := ask(t, l.Hosts[0]); got != "one first" {
		t.Errorf("the agent says %q", got)
	}
	if log, _ := os.ReadFile(l.Hosts[1].Log); !bytes.Contains(log, []byte("clock 2h\n")) {
		t.Errorf("the agent's environment: %s", log)
	}
	// A daemon that fails ends the lab; the error has its last output.
	for _, ready := range []string{"{exit: true}", "{tcp: 80}", "{unix: /run/x, within: 5s}"} {
		topology, err := lab.Read(write(t, "agent: {off: true}\nhosts: [{name: h, daemons: [{name: d, command: [sh, -c, 'echo no yarn; exit 3'], ready: "+ready+"}]}]"))
		if err != nil {
			t.Fatal(err)
		}
		topology.Dir = t.TempDir()
		if _, err = lab.Raise(t.Context(), topology); err == nil || !strings.Contains(err.Error(), "status 3") || !strings.Contains(err.Error(), "no yarn") {
			t.Errorf("%s: %v", ready, err)
		}
	}
}

// Debian's etcd, as two members on two hosts.
func TestEtcd(t *testing.T) {
	if _, err := exec.LookPath("etcd"); err != nil {
		t.Skip("needs etcd (Debian: etcd-server)")
	}
	l := raise(t, "agent: {off: true}\netcd: [host1, host2]\nhosts: [{name: host1}, {name: host2}, {name: host3}]")
	if _, err := exec.LookPath("etcdctl"); err == nil { // Debian: etcd-client
		in(t, l, "host3", "env", "ETCDCTL_API=3", "etcdctl", "--endpoints", "172.31.240.11:2379,172.31.240.12:2379", "endpoint", "health")
		out := in(t, l, "host3", "env", "ETCDCTL_API=3", "etcdctl", "--endpoints", "172.31.240.11:2379", "member", "list")
		if strings.Count(out, "started") != 2 {
			t.Error(out)
		}
	}
}

// Impossible topologies are refused, with the position in the file if there is one, and nothing is
// made.
func TestBadTopologies(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":           {"", "empty"},
		"unknown key":     {"name: x\nhots: []", "line 2: unknown key hots"},
		"deep key":        {"hosts:\n  - name: a\n    nics:\n      - swich: x", "line 4: unknown key swich"},
		"wrong kind":      {"hosts: 3", `line 1: "3" is of the wrong kind; give a list`},
		"wrong number":    {"mtu: many\nhosts: []", `line 1: "many" is of the wrong kind; give a whole number`},
		"spaced key":      {"name: x\nmy hosts: []", `line 2: unknown key "my hosts"`},
		"two documents":   {"hosts: [{name: a}]\n---\n{}", "more than one document"},
		"no hosts":        {"name: x", "number of hosts"},
		"host's name":     {"hosts: [{name: A b}]", "name of host"},
		"two of a name":   {"hosts: [{name: a}, {name: a}]", "two hosts"},
		"host and switch": {"hosts: [{name: switch}]", "two hosts"},
		"long port":       {"hosts: [{name: averylonghost, spare: 1}]", "too long"},
		"no such switch":  {"hosts: [{name: a, nics: [{switch: s}]}]", "no such switch"},
		"foreign address": {"hosts: [{name: a, nics: [{addresses: [10.0.0.1/24]}]}]", "10.0.0.1"},
		"wrong mask":      {"hosts: [{name: a, nics: [{addresses: [172.31.240.5/16]}]}]", "172.31.240.5/16"},
		"taken address":   {"hosts: [{name: a, nics: [{addresses: [172.31.240.1/24]}]}]", "switch has it"},
		"no address":      {"hosts: [{name: a, nics: [{addresses: [elsewhere]}]}]", "elsewhere"},
		"two v4 subnets":  {"switches: [{name: s, subnets: [10.0.0.0/24, 10.0.1.0/24]}]\nhosts: [{name: a}]", "one IPv4 subnet"},
		"MTU":             {"mtu: 100\nhosts: [{name: a}]", "100"},
		"NIC's MTU":       {"hosts: [{name: a, nics: [{mtu: 70000}]}]", "70000"},
		"rate":            {"rate: 5\nhosts: [{name: a}]", "rate"},
		"sysctl":          {"hosts: [{name: a, sysctls: {kernel.hostname: x}}]", "kernel.hostname"},
		"slots of none":   {"hosts: [{name: a, slots: 1}]", "made of namespaces"},
		"negative slots":  {"hosts: [{name: a, slots: -1}]", "0 to 128"},
		"many slots":      {"hosts: [{name: a, machine: '6.1', slots: 129}]", "0 to 128"},
		"IOMMU of none":   {"hosts: [{name: a, iommu: true}]", "made of namespaces"},
		"icount of none":  {"hosts: [{name: a, icount: true}]", "made of namespaces"},
		"icount of two":   {"hosts: [{name: a, machine: '6.1', icount: true, cpus: 2}]", "one clock"},
		"CPUs of none":    {"hosts: [{name: a, cpus: 2}]", "made of namespaces"},
		"negative CPUs":   {"hosts: [{name: a, machine: '6.1', cpus: -1}]", "1 to 8"},
		"many CPUs":       {"hosts: [{name: a, machine: '6.1', cpus: 9}]", "1 to 8"},
		"slots and NICs":  {"hosts: [{name: a, machine: '6.1', spare: 20, slots: 64}]", "room for 30"},
		"slots' folder":   {"hosts: [{name: qmp}, {name: a, machine: '6.1', slots: 1}]", "folder of that name"},
		"store":           {"store: paper\nhosts: [{name: a}]", "paper"},
		"store of none":   {"store: etcd\nhosts: [{name: a}]", "etcd"},
		"etcd nowhere":    {"etcd: [b]\nhosts: [{name: a}]", "etcd on host"},
		"VPC's name":      {"hosts: [{name: a, vpcs: [a b]}]", "name of VPC"},
		"two VPCs":        {"agent: {command: [/bin/true]}\nhosts: [{name: a, vpcs: [red, red]}]", "has it already"},
		"VPC and agent":   {"hosts: [{name: a, vpcs: [red], agent: {off: true}}]", "no agent"},
		"router's VPC":    {"hosts: [{name: a, router: true, vpcs: [red]}]", "no agent"},
		"VPC's daemon":    {"agent: {command: [/bin/true]}\nhosts: [{name: a, vpcs: [red], daemons: [{name: heddled-vpc-red, command: [x]}]}]", "its own name"},
		"daemon's name":   {"hosts: [{name: a, daemons: [{name: heddled, command: [x]}]}]", "heddled"},
		"two daemons":     {"etcd: [a]\nhosts: [{name: a, daemons: [{name: etcd, command: [x]}]}]", "its own name"},
		"no command":      {"hosts: [{name: a, daemons: [{name: x}]}]", "command"},
		"exit and port":   {"hosts: [{name: a, daemons: [{name: x, command: [x], ready: {exit: true, tcp: 1}}]}]", "readiness"},
		"no agent":        {"agent: {command: [/no/such/agent]}\nhosts: [{name: a}]", "/no/such/agent"},
	} {
		topology, err := lab.Read(write(t, c.text))
		topology.Dir = filepath.Join(t.TempDir(), "labs")
		if err == nil {
			topology.Agent.Off = topology.Agent.Command == nil && topology.Store == ""
			if topology.Store != "" {
				topology.Agent.Command = testAgent(t)
			}
			_, err = lab.Raise(t.Context(), topology)
		}
		if heddle.KindOf(err) != heddle.Usage || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if _, err := os.Stat(topology.Dir); err == nil {
			t.Errorf("%s: something was made", name)
		}
	}
}
