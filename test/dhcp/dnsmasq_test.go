package dhcp_test

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// program is a server on the LAN outside, with a folder of its own.
type program struct{ dir string }

func newProgram(t *testing.T) *program {
	t.Helper()
	p := &program{t.TempDir()}
	os.Chmod(p.dir, 0o777)
	return p
}

// dnsmasqPath is where dnsmasq is. The test is skipped where it is not installed.
func dnsmasqPath(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("dnsmasq")
	if err != nil {
		t.Skip("needs dnsmasq (Debian: dnsmasq-base)")
	}
	return path
}

// start runs it for the length of the test, and waits for the words by which it says that it serves.
func (p *program) start(t *testing.T, outside world.Netns, serves, path string, args ...string) {
	t.Helper()
	cmd := exec.Command(path, args...)
	log, err := os.Create(filepath.Join(p.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := outside.Do(cmd.Start); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", path, p.log())
		}
	})
	world.Soon(t, path+" runs", func() error {
		if text := p.log(); !strings.Contains(text, serves) {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
}

func (p *program) log() string {
	text, _ := os.ReadFile(filepath.Join(p.dir, "log"))
	return string(text)
}

// dnsmasq is the server of that name.
type dnsmasq struct{ *program }

// startDnsmasq runs dnsmasq, with further flags.
func startDnsmasq(t *testing.T, outside world.Netns, flags ...string) *dnsmasq {
	t.Helper()
	d := &dnsmasq{newProgram(t)}
	d.start(t, outside, "DHCP, IP range", dnsmasqPath(t), append([]string{"--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--interface=eth0", "--bind-interfaces", "--no-ping", "--user=root",
		"--dhcp-authoritative", "--dhcp-range=192.0.2.50,192.0.2.59,255.255.255.0,2m", "--dhcp-option=option:router,192.0.2.2",
		"--dhcp-leasefile=" + d.leases(), "--log-dhcp", "--log-facility=-"}, flags...)...)
	return d
}

func (d *dnsmasq) leases() string { return filepath.Join(d.dir, "leases") }

// has reports whether the lease file has the address.
func (d *dnsmasq) has(a netip.Addr) bool {
	text, _ := os.ReadFile(d.leases())
	return strings.Contains(string(text), " "+a.String()+" ")
}

// getsBack waits until the address is leased no more.
func (d *dnsmasq) getsBack(t *testing.T, a netip.Addr) {
	t.Helper()
	world.Soon(t, "the lease is given back", func() error {
		if d.has(a) {
			return fmt.Errorf("%s", d.log())
		}
		return nil
	})
}

// TestLeased: a container has the address, mask and router that a real server gives, reaches the LAN
// and what lies beyond by it, renews it, keeps it over an agent's restart, and gives it back.
func TestLeased(t *testing.T) {
	w := world.New(t)
	server := startDnsmasq(t, w.Outside, "--dhcp-option=option:T1,3", "--dhcp-option=option:T2,60", "--dhcp-option=option:mtu,1300")
	n := w.Network(t, "lan", "macvlan", byDHCP)
	if len(n.Subnets) != 0 || n.Parent != "up0" {
		t.Errorf("network: %+v", n)
	}
	began := time.Now()
	a := w.Pod(t, "a", "lan")
	t.Logf("attached with a lease in %v", time.Since(began).Round(time.Millisecond))
	l := a.Endpoint.DHCP
	if l == nil || !l.Held || a.Endpoint.Addrs[0].Bits() != 24 || l.Server != world.Outside4 || !a.Endpoint.DefaultRoute || a.Endpoint.MTU != 1300 {
		t.Fatalf("endpoint: %+v, lease %+v", a.Endpoint, l)
	}
	a.Reaches(t, world.Outside4, world.Beyond4, world.Host4)
	w.Outside.Reaches(t, a.V4())
	w.Host.Reaches(t, a.V4())
	if !server.has(a.V4()) {
		t.Error("the server has no lease")
	}
	renewed := func(since heddle.DHCPLease) (now heddle.DHCPLease) {
		world.Soon(t, "renewed", func() error {
			e, err := w.Endpoint(a.Endpoint.ID)
			if err != nil {
				return err
			}
			if now = *e.DHCP; !now.Held || !now.Expires.After(since.Expires) {
				return fmt.Errorf("lease %+v", now)
			}
			return nil
		})
		return now
	}
	next := renewed(*l)
	w.AuditEmpty(t)
	w.Restart(t, func() { a.Reaches(t, world.Outside4) })
	renewed(next)
	a.Reaches(t, world.Outside4, world.Beyond4)
	w.AuditEmpty(t)
	addr := a.V4()
	a.Leave(t)
	server.getsBack(t, addr)
	b := w.Pod(t, "b", "lan")
	b.Reaches(t, world.Outside4)
}

// TestKilled: an agent that is killed takes nothing along, and the next one renews the lease.
func TestKilled(t *testing.T) {
	soak.Turn(t, 2)
	w := world.New(t) // for its LAN
	server := startDnsmasq(t, w.Outside, "--dhcp-option=option:T1,2", "--dhcp-option=option:T2,60")
	dir, pod := t.TempDir(), world.NewNetns(t, "killed")
	a := cell.Start(t, dir)
	n := heddle.Network{Name: "lan", Mode: "macvlan", Parent: "up0", Options: map[string]string{"addresses": "dhcp"}}
	_, _, err := a.CreateNetwork(ctx, n, false)
	cell.Must(t, err)
	made, err := a.Attach(ctx, w.Request(pod, "lan"))
	cell.Must(t, err)
	pod.Reaches(t, world.Outside4)
	for range 2 {
		a.Kill()
		pod.Reaches(t, world.Outside4)
		a = cell.Start(t, dir)
		world.Soon(t, "the lease is renewed", func() error {
			e, err := a.Endpoint(ctx, made.Endpoint.ID)
			if err == nil && (!e.DHCP.Expires.After(made.Endpoint.DHCP.Expires) || e.Addrs[0] != made.Endpoint.Addrs[0]) {
				err = fmt.Errorf("%+v", e.DHCP)
			}
			return err
		})
	}
	a.AuditEmpty(t)
	_, err = a.Detach(ctx, made.Endpoint.ID)
	cell.Must(t, err)
	server.getsBack(t, made.Endpoint.Addrs[0].Addr())
	cell.Must(t, a.DeleteNetwork(ctx, "lan"))
	a.AuditEmpty(t)
	a.Stop()
}
