package runtimes_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
	"github.com/heddle-network/heddle/test/world"
)

// netavarkHost furnishes a host of the lab with Debian 13's Podman, and names the plugin's folder.
const netavarkHost = `mount -t overlay podman /usr -o lowerdir=%[1]s/usr:/usr
for dir in /etc/containers /var/lib/containers /dev/shm; do mkdir -p $dir && mount -t tmpfs runtime $dir; done
mkdir /etc/containers/plugins && cp %[2]s /etc/containers/plugins/heddle
printf '[network]\nnetwork_backend = "netavark"\nnetavark_plugin_dirs = ["/etc/containers/plugins"]\n[containers]\ncgroups = "disabled"\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n[engine]\nruntime = "crun"\n' >/etc/containers/containers.conf
printf '[storage]\ndriver = "vfs"\nrunroot = "/run/containers/storage"\ngraphroot = "/var/lib/containers/storage"\n' >/etc/containers/storage.conf
printf '{"default": [{"type": "insecureAcceptAnything"}]}' >/etc/containers/policy.json
tar -C %[3]s -c . | podman import - box`

// TestNetavarkAcross has an overlay that Podman creates on one host, and names on the other. Containers
// of both hosts find each other by name, and reach each other.
func TestNetavarkAcross(t *testing.T) {
	soak.Turn(t, 2)
	cell.Need(t)
	if err := settleCgroups(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PODMAN_IGNORE_CGROUPSV1_WARNING", "1")
	command := cell.Build(t, "heddle") // by which hosts take their tokens
	l, err := lab.Up(ctx, lab.Options{Name: "podmen", Hosts: 2, Store: lab.StoreEmbedded, Dir: t.TempDir(), AgentCommand: []string{cell.Build(t, "heddled"), "--resolver", "gateway"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(ctx); err != nil {
			t.Error(err)
		}
	})
	a, b := l.Hosts[0], l.Hosts[1]
	for _, h := range l.Hosts {
		inHost(t, h, fmt.Sprintf(netavarkHost, vm.Packages(t, "podman"), cell.Build(t, "heddle-cni"), rootfs(t)))
	}
	inHost(t, a, "podman network create --driver heddle --subnet 10.30.0.0/16 --subnet fd30::/64 pods")
	inHost(t, b, "for i in $(seq 600); do "+command+" network show pods >/dev/null 2>&1 && break; sleep 0.1; done; podman network create --driver heddle pods")
	at := map[string]*lab.Host{"web": a, "api": b}
	for name, h := range at {
		inHost(t, h, "podman run -d --name "+name+" --network pods box /bin/serve "+name+" 80; podman inspect --format '{{.State.Pid}}' "+name+" >/run/"+name+".pid")
	}
	for from, to := range map[string]string{"web": "api", "api": "web"} {
		want, source := addresses(t, runs(t, at[to], to)), runs(t, at[from], from)
		world.Within(t, time.Minute, from+" finds "+to, func() error {
			cmd, err := at[from].Command(ctx, "podman", "exec", from, "/bin/busybox", "nslookup", to+".pods.heddle.internal")
			if err != nil {
				return err
			}
			out, err := cmd.CombinedOutput()
			for _, addr := range want {
				if _, err := source.Ask("tcp", netip.AddrPortFrom(addr, 80)); err != nil {
					return err
				}
				if !slices.Contains(strings.Fields(string(out)), addr.String()) {
					return fmt.Errorf("no %s in %s (%v)", addr, out, err)
				}
			}
			return nil
		})
	}
	for name, h := range at {
		inHost(t, h, "podman rm -f -t 0 "+name)
	}
}
