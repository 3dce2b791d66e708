package cni_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/cni/libcni"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestTuning lets a later plugin change the MAC address, the MTU and the
// promiscuity of our interface; CHECK accepts that and nothing else.
func TestTuning(t *testing.T) {
	h := newHost(t)
	h.reference("tuning")
	for i, version := range []string{"0.4.0", "1.0.0", "1.1.0"} {
		l := chain(t, version, bridge, `{"type":"tuning","mac":"0a:00:00:00:00:55","mtu":1400,"promisc":true}`)
		c := container(t, fmt.Sprintf("c%d", i))
		h.mustAdd(l, c)
		inside := cell.Sh(t, "ip -n %s -d -o link show eth0", c.ContainerID)
		if !strings.Contains(inside, "0a:00:00:00:00:55") || !strings.Contains(inside, "mtu 1400") || !strings.Contains(inside, "promiscuity 1") {
			t.Error(inside)
		}
		if err := h.CheckNetworkList(ctx, l, c); err != nil {
			t.Errorf("%s: CHECK: %v", version, err)
		}
		cell.Sh(t, "ip -n %s address flush dev eth0", c.ContainerID)
		if err := h.CheckNetworkList(ctx, l, c); code(err) != 101 {
			t.Errorf("%s: CHECK without addresses: %v", version, err)
		}
		h.mustDel(l, c)
	}
}

// TestBandwidth limits the rate of our interface; the plugin's own device goes
// with it.
func TestBandwidth(t *testing.T) {
	h := newHost(t)
	h.reference("bandwidth")
	if out, err := cell.TrySh("ip link add ifbtest type ifb && ip link del ifbtest && tc qdisc add dev up0 root tbf rate 1mbit burst 4k latency 10ms && tc qdisc del dev up0 root"); err != nil {
		t.Skip("needs the kernel's ifb and tbf:", out)
	}
	l := chain(t, "1.1.0", bridge, `{"type":"bandwidth","ingressRate":8000000,"ingressBurst":800000,"egressRate":8000000,"egressBurst":800000}`)
	c := container(t, "c1")
	r := h.mustAdd(l, c)
	if qdisc := cell.Sh(t, "tc qdisc show dev %s", r.Interfaces[0].Name); !strings.Contains(qdisc, "tbf") {
		t.Error("no limit on the host's end:", qdisc)
	}
	if err := h.CheckNetworkList(ctx, l, c); err != nil {
		t.Errorf("CHECK: %v", err)
	}
	h.mustDel(l, c)
	if out := cell.Sh(t, "ip -o link show type ifb"); out != "" {
		t.Error("left:", out)
	}
}

// TestPortMappings reaches a server in the container by the host's addresses.
func TestPortMappings(t *testing.T) {
	h := newHost(t)
	l := chain(t, "1.1.0", bridge)
	c := container(t, "c1")
	c.CapabilityArgs = map[string]any{"portMappings": []map[string]any{
		{"hostPort": 18080, "containerPort": 80, "protocol": "tcp"},
		{"hostPort": 18081, "containerPort": 80, "protocol": "TCP", "hostIP": hostAddress},
	}}
	h.mustAdd(l, c)
	serve(t, world.Netns{Name: "c1", Path: c.NetNS})
	for _, address := range []string{net.JoinHostPort(hostAddress, "18080"), net.JoinHostPort(hostAddress, "18081"), net.JoinHostPort(hostAddress6, "18080")} {
		for _, from := range []world.Netns{h.outside, {Name: "host"}} {
			world.Soon(t, "the server by "+address+" from "+from.Name, func() error { return hear(from, address) })
		}
	}
	c2 := container(t, "c2")
	c2.CapabilityArgs = map[string]any{"portMappings": []map[string]any{{"hostPort": 18080, "containerPort": 80}}}
	if _, err := h.AddNetworkList(ctx, l, c2); code(err) != 105 || !strings.Contains(err.Error(), "HDL-2010") {
		t.Errorf("the same port twice: %v", err)
	}
	c2.CapabilityArgs = map[string]any{"portMappings": []map[string]any{{"hostPort": 1, "containerPort": 1, "protocol": "dccp"}}}
	if _, err := h.AddNetworkList(ctx, l, c2); code(err) != 2 {
		t.Errorf("dccp: %v", err)
	}
	c2.CapabilityArgs = map[string]any{"portMappings": []map[string]any{{"hostPort": 18080, "containerPort": 80, "protocol": "sctp"}}}
	h.mustAdd(l, c2)
	h.mustDel(l, c2)
	h.mustDel(l, c)
	if hear(h.outside, net.JoinHostPort(hostAddress, "18080")) == nil {
		t.Error("the port answers after DEL")
	}
}

// serve greets on port 80 in the namespace.
func serve(t *testing.T, in world.Netns) {
	t.Helper()
	var l net.Listener
	if err := in.Do(func() (err error) { l, err = net.Listen("tcp", ":80"); return err }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, "hello")
			c.Close()
		}
	}()
}

func hear(from world.Netns, address string) error {
	return from.Do(func() error {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return err
		}
		defer c.Close()
		if text, err := io.ReadAll(c); string(text) != "hello" {
			return fmt.Errorf("heard %q, %v", text, err)
		}
		return nil
	})
}

// TestShippedLists installs the lists of packaging/cni and runs cnitool on them,
// as docs/guides/cni.md does: with the newest plugins beside ours, and with Debian's.
func TestShippedLists(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "cnitool")
	if out, err := exec.Command("go", "build", "-o", tool, "github.com/containernetworking/cni/cnitool").CombinedOutput(); err != nil {
		t.Fatalf("build cnitool: %v\n%s", err, out)
	}
	for name, others := range map[string]func(*host, ...string){"reference": (*host).reference, "Debian": (*host).debian} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			others(h, "tuning", "bandwidth")
			shippedLists(t, h, tool)
		})
	}
}

func shippedLists(t *testing.T, h *host, tool string) {
	conf := filepath.Join(h.dir, "net.d")
	os.Mkdir(conf, 0o755)
	files, _ := filepath.Glob("../../packaging/cni/*.conflist")
	more, _ := filepath.Glob("../../packaging/cni/examples/*.conflist")
	if files = append(files, more...); len(files) < 4 {
		t.Fatalf("lists %q", files)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		os.WriteFile(filepath.Join(conf, filepath.Base(file)), text, 0o644)
		l, err := libcni.ConfListFromFile(file)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if want := map[bool]string{true: "1.1.0", false: "1.0.0"}[len(l.Plugins) == 1]; l.CNIVersion != want {
			t.Errorf("%s: version %s, want %s", file, l.CNIVersion, want)
		}
		netns := cell.Netns(t, "pod")
		for _, verb := range []string{"add", "check", "status", "del", "del"} {
			cmd := exec.Command(tool, verb, l.Name, netns)
			cmd.Env = append(os.Environ(), "CNI_PATH="+h.plugins, "NETCONFPATH="+conf)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: cnitool %s: %v\n%s", filepath.Base(file), verb, err, out)
			}
		}
		cell.Sh(t, "ip netns del pod")
	}
}
