package dhcp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

const dhcpdConfig = `authoritative; min-lease-time 12; default-lease-time 12; max-lease-time 12; option dhcp-renewal-time 2; option dhcp-rebinding-time 10;
ping-check false;
subnet 192.0.2.0 netmask 255.255.255.0 { range 192.0.2.50 192.0.2.59; option routers 192.0.2.2; }
`

const keaConfig = `{"Dhcp4": {"interfaces-config": {"interfaces": ["eth0"]}, "lease-database": {"type": "memfile", "persist": false},
"valid-lifetime": 12, "renew-timer": 2, "rebind-timer": 10, "authoritative": true,
"subnet4": [{"subnet": "192.0.2.0/24", "pools": [{"pool": "192.0.2.50-192.0.2.59"}], "option-data": [{"name": "routers", "data": "192.0.2.2"}]}],
"loggers": [{"name": "kea-dhcp4", "severity": "DEBUG", "debuglevel": 40, "output_options": [{"output": "stdout", "flush": true}]}]}}
`

// TestServers: other real servers lease, renew, confirm after a restart and take back, too.
func TestServers(t *testing.T) {
	for _, s := range []struct{ name, debian, config, serves string }{
		{"dhcpd", "isc-dhcp-server", dhcpdConfig, "Server starting service"},
		{"kea-dhcp4", "kea-dhcp4-server", keaConfig, "DHCP4_STARTED"},
	} {
		t.Run(s.name, func(t *testing.T) {
			w := world.New(t)
			p, path := newProgram(t, s.name, s.debian)
			config, leases := filepath.Join(p.dir, "config"), filepath.Join(p.dir, "leases")
			cell.Must(t, os.WriteFile(config, []byte(s.config), 0o644))
			cell.Must(t, os.WriteFile(leases, nil, 0o644))
			args := []string{"-f", "-d", "-cf", config, "-lf", leases, "-pf", filepath.Join(p.dir, "pid"), "eth0"}
			if s.name == "kea-dhcp4" {
				t.Setenv("KEA_LOCKFILE_DIR", p.dir)
				t.Setenv("KEA_PIDFILE_DIR", p.dir)
				args = []string{"-c", config}
			}
			p.start(t, w.Outside, s.serves, path, args...)
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
