package machines_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/cloud"
	"github.com/heddle-network/heddle/test/world"
)

// localCloud is a cloud that runs on the hypervisor. The first machine is its instance.
type localCloud struct {
	t    *testing.T
	http http.Client
	stop func()
}

// spoken is how a cloud speaks, and what differs by that.
type spoken struct {
	ec2              bool
	metadata, subnet string
	config           string
	// network are options of the hypervisor's network: where a cloud's gateways and further addresses are.
	network []string
}

func asAliyun() spoken {
	return spoken{metadata: cloud.MetadataAddr, subnet: "vsw-lan", config: `aliyun:
  networks:
    lan: {vswitch: vsw-lan, securityGroups: [sg-1]}
  ecs: 172.31.240.11:7443
  vpc: 172.31.240.11:7443
  ca: /run/cloud.pem
`, network: []string{"--gateway", "10.72.0.253", "--gateway", "fd72::ffff:ffff:ffff:fffd"}} // the third address from the end
}

// startCloud starts the cloud, in place of the hypervisor's service, and the first machine's agent as one that asks it.
func (p *plugged) startCloud(t *testing.T, s spoken) *localCloud {
	t.Helper()
	p.stop()
	p.vm.KillAgent(t)
	place := cloud.Place{API: netip.MustParseAddrPort("172.31.240.11:7443"), Dir: "/run/heddle", Socket: "/run/heddle/heddle.sock", QMP: "/run/qmp/vm1", EC2: s.ec2,
		Options: cloud.Options{Instance: "i-vm1", Type: "local.large", NICs: 4, VSwitches: map[string]cloud.VSwitch{s.subnet: {Network: "vsw", Free: 100,
			V4: netip.MustParsePrefix("10.72.0.0/24"), V6: netip.MustParsePrefix("fd72::/64")}}, IPv4s: 3, IPv6s: 3}}
	p.hv.Heddle(t, append([]string{"network", "create", "vsw", "--mode", "bridge", "--subnet", "10.72.0.0/24", "--subnet", "fd72::/64"}, s.network...)...)
	p.hv.Run(t, "ip", "address", "replace", s.metadata+"/32", "dev", "lo")
	self, err := os.Executable()
	cell.Must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cmd, err := p.hv.Command(ctx, append([]string{self}, place.Command()...)...)
	cell.Must(t, err)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cell.Must(t, cmd.Start())
	c := &localCloud{t: t, stop: sync.OnceFunc(func() {
		cancel()
		cmd.Wait()
		if t.Failed() {
			t.Logf("the cloud:\n%s", log.String())
		}
	})}
	control := filepath.Join(filepath.Dir(p.hv.Socket), "control")
	c.http.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", control)
	}}
	world.Soon(t, "the cloud answers", func() error { return c.call(http.MethodGet, "/", nil, nil) })
	p.vm.Run(t, "ip", "route", "add", s.metadata+"/32", "via", "172.31.240.11")
	for file, text := range map[string]string{"/run/cloud.pem": p.hv.Run(t, "cat", "/run/heddle/ca.pem"), "/run/cloud.yaml": s.config} {
		p.vm.Run(t, "sh", "-c", "cat >"+file+" <<'E'\n"+text+"\nE\n")
	}
	p.vm.StartAgent(t, append([]string{"--nic-cloud", "/run/cloud.yaml"}, withoutDocker...)...)
	return c
}

// call calls the program of the cloud.
func (c *localCloud) call(method, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(method, "http://cloud"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", answer.StatusCode)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// set has the cloud misbehave.
func (c *localCloud) set(f cloud.Faults) {
	c.t.Helper()
	cell.Must(c.t, c.call(http.MethodPut, "/faults", f, nil))
}

// is waits until the cloud has that many NICs for containers.
func (c *localCloud) is(count int) {
	c.t.Helper()
	world.Within(c.t, 3*world.Patience, fmt.Sprintf("the cloud has %d NICs", count), func() error {
		var said cloud.Said
		if err := c.call(http.MethodGet, "/", nil, &said); err != nil || len(said.IDs) != count {
			return fmt.Errorf("%v, %v", said.IDs, err)
		}
		return nil
	})
}

// plugCloud: a machine's agent orders NICs of a cloud, which is slow, says what was true a moment ago, refuses, and is away.
func plugCloud(t *testing.T, p *plugged, _ int) {
	c := p.startCloud(t, asAliyun())
	defer c.stop()
	own := p.devices(t)
	vm := p.vm
	vm.Heddle(t, "network", "create", "cloud", "--mode", "direct", "--opt", "plug=lan")
	if out, err := vm.TryHeddle(t, "network", "create", "bad", "--mode", "direct", "--opt", "plug=third"); err == nil || !strings.Contains(out, "network third") {
		t.Errorf("%v, %s", err, out)
	}
	c.set(cloud.Faults{Delay: 500 * time.Millisecond, Lag: time.Second, Throttled: 2})
	e := p.attach(t, "c1", "cloud")
	for _, to := range []string{"10.72.0.253", "fd72::ffff:ffff:ffff:fffd", "172.31.240.1"} {
		cell.Must(t, p.ping("c1", to))
	}
	if status := vm.Heddle(t, "status"); !strings.Contains(status, "machine i-vm1") {
		t.Errorf("the status does not tell of the NICs:\n%s", status)
	}
	if out, err := vm.TryHeddle(t, "attach", "cloud", "--netns", "/run/netns/c1", "--id", "cm", "--mac", "0a:00:00:00:00:99"); err == nil || !strings.Contains(out, "leave --mac out") {
		t.Errorf("%v, %s", err, out)
	}
	out, err := vm.TryHeddle(t, "endpoint", "move", "c1", "--to", "vm2")
	if err == nil || !strings.Contains(out, "moves no NICs") {
		t.Errorf("%v, %s", err, out)
	}
	if p.ping("c1", cloud.MetadataAddr) == nil {
		t.Error("the container reaches the metadata service, which would give it the instance's credentials")
	}
	vm.KillAgent(t)
	vm.StartAgent(t)
	vm.Heddle(t, "audit")
	cell.Must(t, p.ping("c1", "10.72.0.253"))

	// the agent is killed while a NIC is ordered
	vm.Run(t, "ip", "netns", "add", "c2")
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		vm.TryHeddle(t, "attach", "cloud", "--netns", "/run/netns/c2", "--id", "c2")
	}()
	c.is(2)
	vm.KillAgent(t)
	<-killed
	vm.StartAgent(t)
	c.is(1)

	// while the cloud is away, a NIC that waits is given to a container, and one that is detached is deleted later
	c.set(cloud.Faults{})
	vm.Heddle(t, "network", "create", "quick", "--mode", "direct", "--opt", "plug=lan", "--opt", "warm=1")
	c.is(2)
	world.Soon(t, "a NIC waits", func() error {
		if status := vm.Heddle(t, "status"); !strings.Contains(status, "1 warm") {
			return fmt.Errorf("%s", status)
		}
		return nil
	})
	c.set(cloud.Faults{Away: true})
	warm := p.attach(t, "c3", "quick")
	cell.Must(t, p.ping("c3", "10.72.0.253"))
	vm.Heddle(t, "detach", "c1")
	if p.ping("c1", "10.72.0.253") == nil {
		t.Error("c1 has its NIC when it was detached")
	}
	vm.Heddle(t, "network", "delete", "cloud")
	c.set(cloud.Faults{})
	c.is(2) // c3's, and one that waits
	for _, one := range []heddle.Endpoint{e, warm} {
		if !slices.ContainsFunc(one.Addrs, func(a netip.Prefix) bool {
			return netip.MustParsePrefix("10.72.0.0/24").Contains(a.Addr()) && a.Bits() == 24
		}) {
			t.Errorf("the addresses are %v", one.Addrs)
		}
	}

	// one that an agent ordered for nobody is found
	stray := url.Values{"VSwitchId": {"vsw-lan"}, "SecurityGroupIds.1": {"sg-1"}}
	for i, tag := range [][2]string{{"heddle-machine", "i-vm1"}, {"heddle-nic", "e-nobody"}, {"heddle-network", "lan"}} {
		stray.Set(fmt.Sprintf("Tag.%d.Key", i+1), tag[0])
		stray.Set(fmt.Sprintf("Tag.%d.Value", i+1), tag[1])
	}
	cell.Must(t, c.call(http.MethodPost, "/create?"+stray.Encode(), nil, nil))
	c.is(2)
	vm.Heddle(t, "detach", "c3")
	vm.Heddle(t, "network", "delete", "quick")
	c.is(0)
	t.Run("shared", func(t *testing.T) { plugCloudShared(t, p, c) })
	if n := p.devices(t); n != own {
		t.Errorf("%d devices, %d before", n, own)
	}
	vm.Heddle(t, "audit")
	vm.Run(t, "sh", "-c", "for n in c1 c2 c3; do ip netns delete $n; done; ip route delete "+cloud.MetadataAddr+"/32")
	vm.KillAgent(t)
	vm.StartAgent(t, agentArgs...)
	c.stop()
	p.hv.Heddle(t, "network", "delete", "vsw")
	p.serve()
}
