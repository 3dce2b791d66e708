package runtimes_test

import (
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// podsList is the same file on both hosts: the first ADD makes the network.
const podsList = `{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "heddle-cni",
	"mode": "overlay", "subnets": ["10.30.0.0/16", "fd30::/64"]}]}`

// runtimeHost furnishes a host of the lab for a runtime: folders of its own where
// the runtimes and the plugin's configuration lie.
const runtimeHost = `for dir in /etc/cni /opt/cni /etc/containers /var/lib/containers /dev/shm; do
	mkdir -p $dir && mount -t tmpfs runtime $dir; done
mkdir -p /etc/cni/net.d /opt/cni/bin && cp %s /opt/cni/bin/
printf '%%s' '%s' >/etc/cni/net.d/20-pods.conflist`

const podmanFiles = `
printf '[network]\nnetwork_backend = "cni"\n[containers]\ncgroups = "disabled"\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n[engine]\nruntime = "crun"\n' >/etc/containers/containers.conf
printf '[storage]\ndriver = "vfs"\nrunroot = "/run/containers/storage"\ngraphroot = "/var/lib/containers/storage"\n' >/etc/containers/storage.conf
printf '{"default": [{"type": "insecureAcceptAnything"}]}' >/etc/containers/policy.json
tar -C %s -c . | podman import - box
podman run -d --name web --network pods box /bin/serve web 80
podman inspect --format '{{.State.Pid}}' web >/run/web.pid`

const containerdFiles = `
printf 'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n' >/run/containerd.toml
containerd --config /run/containerd.toml >/run/containerd.log 2>&1 &
for i in $(seq 1200); do ctr version >/dev/null 2>&1 && break; sleep 0.1; done
ctr images import --snapshotter native %s
ctr run -d --cni --snapshotter native localhost/box:1 api /bin/serve api 80
ctr task list | awk '/^api/ {print $2}' >/run/api.pid`

// TestAcross has Podman on one host and containerd on another, each with the same
// configuration of an overlay: their containers and a bare namespace reach each
// other by both IP versions.
func TestAcross(t *testing.T) {
	soak.Turn(t, 1)
	cell.Need(t)
	for _, program := range []string{"podman", "crun", "containerd", "ctr", "runc", "busybox"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	if err := settleCgroups(); err != nil {
		t.Fatal(err)
	}
	command := cell.Build(t, "heddle") // by which hosts take their tokens
	l, err := lab.Up(ctx, lab.Options{Name: "across", Hosts: 2, Store: lab.StoreEmbedded, Dir: t.TempDir(), AgentCommand: []string{cell.Build(t, "heddled")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(ctx); err != nil {
			t.Error(err)
		}
	})
	root, plugin := rootfs(t), cell.Build(t, "heddle-cni")
	a, b := l.Hosts[0], l.Hosts[1]
	inHost(t, a, fmt.Sprintf(runtimeHost+podmanFiles, plugin, podsList, root))
	inHost(t, b, fmt.Sprintf(runtimeHost+containerdFiles, plugin, podsList, image(t, root, "localhost/box:1")))
	inHost(t, b, "ip netns add bare && "+command+" attach pods --netns bare")
	web, api := runs(t, a, "web"), runs(t, b, "api")
	bare := world.Netns{Name: "bare", Path: fmt.Sprintf("/proc/%d/root/run/netns/bare", b.Pid)}
	for _, pair := range [][2]world.Netns{{web, api}, {api, web}, {bare, web}, {bare, api}} {
		from, to := pair[0], pair[1]
		for _, addr := range addresses(t, to) {
			world.Within(t, 2*time.Minute, fmt.Sprintf("%s asks %s at %s", from.Name, to.Name, addr), func() error {
				_, err := from.Ask("tcp", netip.AddrPortFrom(addr, 80))
				return err
			})
		}
	}
	inHost(t, b, `ctr task kill -s KILL api
		for i in $(seq 600); do ctr container delete api && break; test $i != 600; sleep 0.1; done
		kill $(pidof containerd)`)
	inHost(t, a, "podman rm -f -t 0 web")
}

// inHost runs a script in a host of the lab.
func inHost(t *testing.T, h *lab.Host, script string) string {
	t.Helper()
	cmd, err := h.Command(ctx, "sh", "-ec", script)
	if err != nil {
		t.Fatal(err)
	}
	cmd.WaitDelay = 30 * time.Second // containerd goes on
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", h.Name, err, out)
	}
	return strings.TrimSpace(string(out))
}

// runs is the network namespace of a container whose process its host has noted.
func runs(t *testing.T, h *lab.Host, name string) world.Netns {
	t.Helper()
	pid := inHost(t, h, "cat /run/"+name+".pid")
	return world.Netns{Name: name, Path: fmt.Sprintf("/proc/%d/root/proc/%s/ns/net", h.Pid, pid)}
}

func addresses(t *testing.T, p world.Netns) (all []netip.Addr) {
	t.Helper()
	for _, word := range strings.Fields(p.Sh(t, "ip -o address show dev eth0 scope global | awk '{print $4}'")) {
		prefix, err := netip.ParsePrefix(word)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, prefix.Addr())
	}
	if len(all) != 2 {
		t.Fatalf("%s has %v", p.Name, all)
	}
	return all
}
