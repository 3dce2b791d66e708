package dhcp_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
	"github.com/heddle-network/heddle/test/world"
)

const dhcpdTimes = `authoritative; min-lease-time 12; default-lease-time 12; max-lease-time 12; option dhcp-renewal-time 2; option dhcp-rebinding-time 10;
`

const dhcpdConfig = dhcpdTimes + `ping-check false;
subnet 192.0.2.0 netmask 255.255.255.0 { range 192.0.2.50 192.0.2.59; option routers 192.0.2.2; }
`

const dhcpd6Config = dhcpdTimes + `subnet6 2001:db8::/64 { range6 2001:db8::50 2001:db8::59; }
`

const keaTimes = `"interfaces-config": {"interfaces": ["eth0"]}, "lease-database": {"type": "memfile", "persist": false},
"valid-lifetime": 12, "renew-timer": 2, "rebind-timer": 10,
"loggers": [{"name": "*", "severity": "DEBUG", "debuglevel": 40, "output_options": [{"output": "stdout", "flush": true}]}],
`

const keaConfig = `{"Dhcp4": {` + keaTimes + `"authoritative": true,
"subnet4": [{"subnet": "192.0.2.0/24", "pools": [{"pool": "192.0.2.50-192.0.2.59"}], "option-data": [{"name": "routers", "data": "192.0.2.2"}]}]}}
`

const kea6Config = `{"Dhcp6": {` + keaTimes + `"preferred-lifetime": 12, "server-id": {"type": "LL", "persist": false},
"subnet6": [{"subnet": "2001:db8::/64", "interface": "eth0", "pools": [{"pool": "2001:db8::50-2001:db8::59"}]}]}}
`

// server is one of ISC's, dhcpd or Kea.
type server struct{ name, config, serves string }

// start runs it on the LAN, with further flags.
func (s server) start(t *testing.T, w *world.World, flags ...string) *program {
	t.Helper()
	tree, p := vm.Packages(t, "dhcp"), newProgram(t)
	config, leases := filepath.Join(p.dir, "config"), filepath.Join(p.dir, "leases")
	cell.Must(t, os.WriteFile(config, []byte(s.config), 0o644))
	cell.Must(t, os.WriteFile(leases, nil, 0o644))
	libraries := fmt.Sprintf("LD_LIBRARY_PATH=%s/usr/lib/x86_64-linux-gnu:%[1]s/lib/x86_64-linux-gnu", tree)
	args := []string{libraries, "KEA_LOCKFILE_DIR=" + p.dir, "KEA_PIDFILE_DIR=" + p.dir, filepath.Join(tree, "usr/sbin", s.name)}
	if args = append(args, flags...); s.name == "dhcpd" {
		args = append(args, "-f", "-d", "-cf", config, "-lf", leases, "-pf", filepath.Join(p.dir, "pid"), "eth0")
	} else {
		args = append(args, "-c", config)
	}
	p.start(t, w.Outside, s.serves, "env", args...)
	return p
}

// TestServers: other real servers lease, renew, confirm after a restart and take back, too.
func TestServers(t *testing.T) {
	soak.Turn(t, 0)
	for _, s := range []server{
		{"dhcpd", dhcpdConfig, "Server starting service"},
		{"kea-dhcp4", keaConfig, "DHCP4_STARTED"},
	} {
		t.Run(s.name, func(t *testing.T) {
			w := world.New(t)
			s.start(t, w)
			w.Network(t, "lan", "macvlan", byDHCP)
			a := w.Pod(t, "a", "lan")
			a.Reaches(t, world.Outside4, world.Beyond4)
			was := *a.Endpoint.DHCP
			renewed := func() {
				t.Helper()
				world.Soon(t, "the lease is renewed", func() error {
					e, err := w.Endpoint(a.Endpoint.ID)
					if err == nil && (!e.DHCP.Held || !e.DHCP.Expires.After(was.Expires) || e.Addrs[0] != was.Address) {
						err = fmt.Errorf("%+v", e.DHCP)
					} else if err == nil {
						was = *e.DHCP
					}
					return err
				})
			}
			renewed()
			w.Restart(t, nil)
			renewed()
			a.Reaches(t, world.Outside4)
			a.Leave(t)
			w.Pod(t, "b", "lan").Reaches(t, world.Outside4)
			w.AuditEmpty(t)
		})
	}
}

// TestServers6: of IPv6, too, where a router says that addresses come from a server.
func TestServers6(t *testing.T) {
	soak.Turn(t, 1)
	for _, s := range []server{
		{"dhcpd", dhcpd6Config, "Server starting service"},
		{"kea-dhcp6", kea6Config, "DHCP6_STARTED"},
	} {
		t.Run(s.name, func(t *testing.T) {
			w := world.New(t)
			server4 := w.ServeDHCP(t)
			server4.Set(func() { server4.Lease, server4.T1 = time.Hour, time.Minute })
			cell.Sh(t, "sysctl -qw net.ipv6.conf.up0.accept_ra=0") // the host's own addresses stay as they are
			manages(t, w)
			var flags []string
			if s.name == "dhcpd" {
				flags = []string{"-6"}
			}
			p := s.start(t, w, flags...)
			w.Network(t, "lan", "macvlan", byLAN)
			a := w.Pod(t, "a", "lan")
			was := has6(t, w, a, heddle.SourceDHCPv6)[0]
			a.Reaches(t, world.Outside6, world.Beyond6)
			renewed := func() {
				t.Helper()
				world.Soon(t, "the lease is renewed", func() error {
					now := has6(t, w, a, heddle.SourceDHCPv6)[0]
					if now.Address != was.Address {
						t.Fatalf("was %s, is %s", was.Address, now.Address)
					}
					if !now.Valid.After(was.Valid) {
						return errors.New(p.log())
					}
					was = now
					return nil
				})
			}
			renewed()
			w.Restart(t, nil)
			renewed()
			a.Reaches(t, world.Outside6)
			a.Leave(t)
			world.Soon(t, "the lease is given back", func() error {
				if log := p.log(); !strings.Contains(strings.ToUpper(log), "RELEASE") {
					return errors.New(log)
				}
				return nil
			})
			w.AuditEmpty(t)
		})
	}
}

// manages has the LAN's router say each second, for as long as the test runs, that addresses come from a server.
func manages(t *testing.T, w *world.World) {
	t.Helper()
	router := strings.Fields(w.Outside.Sh(t, "ip -6 -o address show dev eth0 scope link"))
	says := world.Advertisement{From: netip.MustParsePrefix(router[3]).Addr(), Lifetime: time.Hour, Managed: true}
	frame := says.Frame(t, heddle.MAC(strings.TrimSpace(w.Outside.Sh(t, "ip -br link show dev eth0 | tr -s ' ' | cut -d' ' -f3"))).Bytes())
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			w.Outside.TrySend("eth0", frame)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	t.Cleanup(func() { stop(); <-done })
}
