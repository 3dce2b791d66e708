package machines_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/lab/boot"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
)

// The lab's own subnets; its switch has the first address and answers.
const (
	subnet4, switch4 = "172.31.240.0/24", "172.31.240.1"
	subnet6, switch6 = "fd99:172:31:240::/64", "fd99:172:31:240::1"
)

// TestSoakIPvlanClients has Docker, Podman and a CNI runtime's calls put containers on
// the machine's NIC, where the kernel has ipvlan.
func TestSoakIPvlanClients(t *testing.T) {
	soak.Need(t, "takes minutes where the processor is emulated")
	docker.Need(t, "podman", "crun")
	for _, kernel := range boot.Versions() {
		t.Run("linux-"+kernel, func(t *testing.T) {
			vm.SkipOther(t, kernel, "6.12")
			needMachines(t, kernel)
			l := raise(t, lab.Topology{Name: "clients", Machine: kernel, Hosts: []lab.Node{{Name: "host1"}}})
			h := &docker.Host{Host: l.Hosts[0], Client: client.New(l.Hosts[0].Socket)}
			t.Run("cni", func(t *testing.T) { onCNI(t, h) })
			t.Run("podman", func(t *testing.T) { onPodman(t, h) })
			t.Run("docker", func(t *testing.T) { onDocker(t, h) })
			h.Heddle(t, "audit")
			if left := h.Run(t, "ip", "-o", "link", "show", "type", "ipvlan"); left != "" {
				t.Errorf("left over: %s", left)
			}
		})
	}
}

// conflist is a network on the machine's NIC; its addresses are the numbered sixteenth
// of what the test gives out.
func conflist(name string, number int) string {
	r := ranges(number)
	return fmt.Sprintf(`{"cniVersion": "1.0.0", "name": %q, "plugins": [{"type": "heddle-cni", "mode": "ipvlan", "parent": "eth0",
		"subnets": [%q, %q], "ranges": [%q, %q], "gateways": [%q, %q]}]}`, name, subnet4, subnet6, r[0], r[1], switch4, switch6)
}

func ranges(number int) [2]string {
	return [2]string{fmt.Sprintf("172.31.240.%d/28", 128+16*number), fmt.Sprintf("fd99:172:31:240:0:2:%d:0/112", number)}
}

// within fails if the address is not of the numbered range.
func within(t *testing.T, addr string, number int) {
	t.Helper()
	for _, r := range ranges(number) {
		if a, err := netip.ParseAddr(addr); err == nil && netip.MustParsePrefix(r).Contains(a) {
			return
		}
	}
	t.Errorf("%q is not of %v", addr, ranges(number))
}

func onCNI(t *testing.T, h *docker.Host) {
	h.Run(t, "ip", "netns", "add", "c")
	call := func(verb string) []byte {
		cmd, err := h.Command(t.Context(), "env", "CNI_COMMAND="+verb, "CNI_CONTAINERID=c", "CNI_IFNAME=eth0", "CNI_NETNS=/run/netns/c",
			"CNI_PATH=/opt/cni/bin", cell.Build(t, "heddle-cni"))
		if err != nil {
			t.Fatal(err)
		}
		var list struct{ Plugins []map[string]any }
		if err := json.Unmarshal([]byte(conflist("cni", 1)), &list); err != nil {
			t.Fatal(err)
		}
		one := list.Plugins[0]
		one["cniVersion"], one["name"] = "1.0.0", "cni"
		text, _ := json.Marshal(one)
		cmd.Stdin = strings.NewReader(string(text))
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("CNI %s: %v\n%s", verb, err, out)
		}
		return out
	}
	var result struct {
		IPs []struct{ Address netip.Prefix }
	}
	if err := json.Unmarshal(call("ADD"), &result); err != nil || len(result.IPs) != 2 {
		t.Fatalf("%v, %+v", err, result)
	}
	for _, ip := range result.IPs {
		within(t, ip.Address.Addr().String(), 1)
		h.Run(t, "ping", "-n", "-c1", "-W5", ip.Address.Addr().String())
	}
	for _, to := range []string{switch4, switch6} {
		h.Run(t, "ip", "netns", "exec", "c", "ping", "-n", "-c1", "-W5", to)
	}
	call("DEL")
	h.Run(t, "ip", "netns", "delete", "c")
	h.Heddle(t, "network", "delete", "cni")
}

func onPodman(t *testing.T, h *docker.Host) {
	h.Run(t, "sh", "-ec", `mkdir -p /etc/containers/containers.conf.d /etc/cni/net.d /opt/cni/bin
		cp `+cell.Build(t, "heddle-cni")+` /opt/cni/bin/
		printf '[network]\nnetwork_backend = "cni"\n' >/etc/containers/containers.conf.d/10-heddle.conf
		printf '[containers]\ncgroups = "disabled"\ndefault_ulimits = ["nofile=1024:1024"]\n[engine]\nruntime = "crun"\ncni_plugin_dirs = ["/opt/cni/bin"]\n' >/etc/containers/containers.conf.d/90-machine.conf
		printf '[storage]\ndriver = "vfs"\nrunroot = "/run/containers/storage"\ngraphroot = "/var/lib/containers/storage"\n' >/etc/containers/storage.conf`)
	file := filepath.Join(t.TempDir(), "20-podman.conflist")
	if err := os.WriteFile(file, []byte(conflist("podman", 2)), 0o644); err != nil {
		t.Fatal(err)
	}
	h.Run(t, "cp", file, "/etc/cni/net.d/")
	h.Run(t, "podman", "import", busybox(t), "box")
	h.Run(t, "podman", "run", "-d", "--name", "p", "--cap-add", "net_raw", "--network", "podman", "box", "sleep", "3600")
	reaches(t, h, 2, "podman", "exec", "p")
	h.Run(t, "podman", "rm", "-f", "-t", "0", "p")
	h.Heddle(t, "network", "delete", "podman")
}

func onDocker(t *testing.T, h *docker.Host) {
	// dockerd gives its containerd 15 s, which can be too little for an emulated processor.
	for range 3 {
		if h.TryStartDocker() == nil {
			break
		}
	}
	h.StartDocker(t)
	defer h.KillDocker()
	h.Docker(t, "import", busybox(t), "box")
	r := ranges(3)
	h.Docker(t, "network", "create", "-d", "heddle", "--ipam-driver", "heddle", "-o", "mode=ipvlan", "-o", "parent=eth0", "-o", "ipvlan_mode=l2",
		"--ipv6", "--subnet", subnet4, "--ip-range", r[0], "--gateway", switch4, "--subnet", subnet6, "--ip-range", r[1], "--gateway", switch6, "lan")
	h.Docker(t, "run", "-d", "--name", "one", "--network", "lan", "box", "sleep", "3600")
	reaches(t, h, 3, "docker", "exec", "one")
	h.Docker(t, "rm", "-f", "one")
	h.Docker(t, "network", "rm", "lan")
	h.StopDocker(t)
}

// busybox is an image's archive; a small one: an emulated processor computes its hashes.
func busybox(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "box.tar")
	cell.Sh(t, `cd %s; mkdir -p box/bin box/proc box/sys box/dev box/etc
		cp "$(command -v busybox)" box/bin/busybox
		for name in sh ip ping sleep; do ln -s busybox box/bin/$name; done
		tar -C box -cf %s .`, filepath.Dir(file), file)
	return file
}

// reaches checks what a container sees: addresses of the range, and the switch, in both
// families; and that the host reaches it.
func reaches(t *testing.T, h *docker.Host, number int, enter ...string) {
	t.Helper()
	out := h.Run(t, append(enter, "sh", "-ec", "ping -c1 -W5 "+switch4+" >&2; ping -c1 -W5 "+switch6+" >&2; ip -o address show dev eth0 scope global")...)
	found := 0
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > 3 && strings.HasPrefix(fields[2], "inet") {
			addr, _, _ := strings.Cut(fields[3], "/")
			within(t, addr, number)
			h.Run(t, "ping", "-n", "-c1", "-W5", addr)
			found++
		}
	}
	if found != 2 {
		t.Errorf("not an address of each family:\n%s", out)
	}
}
