// Package cni_test drives the CNI plugin as a runtime does: by libcni and by
// cnitool, with a real agent and real namespaces, chained with the reference
// plugins.
package cni_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

var ctx = context.Background()

// host is a host with an uplink, an agent and a CNI runtime. Its outside is a
// namespace at the uplink's other end.
type host struct {
	*cell.Agent
	*libcni.CNIConfig
	t       *testing.T
	dir     string
	plugins string
	outside world.Netns
}

const hostAddress, hostAddress6 = "192.0.2.1", "2001:db8::1"

// newHost makes a host for the length of the test. At its end all networks are
// deleted, and neither the agent nor the system's tools may find anything left.
func newHost(t *testing.T) *host {
	t.Helper()
	cell.Need(t)
	h := &host{t: t, dir: t.TempDir(), outside: world.NewNetns(t, "outside")}
	cell.Sh(t, `ip link add up0 type veth peer name eth0 netns outside
		ip address add %s/24 dev up0; ip address add %s/64 dev up0 nodad; ip link set up0 up
		ip -n outside address add 192.0.2.2/24 dev eth0; ip -n outside address add 2001:db8::2/64 dev eth0 nodad
		ip -n outside link set eth0 up
		ip route add default via 192.0.2.2; ip -6 route add default via 2001:db8::2`, hostAddress, hostAddress6)
	t.Cleanup(func() { cell.TrySh("ip link del up0") })
	h.plugins = pluginFolder(t, h.dir)
	h.CNIConfig = libcni.NewCNIConfigWithCacheDir([]string{h.plugins}, filepath.Join(h.dir, "cache"), nil)
	t.Setenv("HEDDLE_SOCKET", filepath.Join(h.dir, "run", "heddle.sock"))
	t.Setenv("HEDDLE_CNI_QUEUE", filepath.Join(h.dir, "state", "cni-queue"))
	before := links(t)
	h.Agent = cell.Start(t, h.dir)
	t.Cleanup(func() { h.end(before) })
	return h
}

// pluginFolder holds our plugin and, where they are built, the reference ones.
func pluginFolder(t *testing.T, dir string) string {
	t.Helper()
	folder := filepath.Join(dir, "plugins")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(cell.Build(t, "heddle-cni"), filepath.Join(folder, "heddle-cni")); err != nil {
		t.Fatal(err)
	}
	return folder
}

// reference adds the reference plugins, which packaging/cni/fetch-plugins.sh
// builds.
func (h *host) reference(names ...string) {
	h.t.Helper()
	out, err := exec.Command("../../packaging/cni/fetch-plugins.sh").Output()
	if err != nil {
		h.t.Skipf("reference plugins are not built, and could not be: run packaging/cni/fetch-plugins.sh (%v)", err)
	}
	for _, name := range names {
		if err := os.Symlink(filepath.Join(strings.TrimSpace(string(out)), name), filepath.Join(h.plugins, name)); err != nil {
			h.t.Fatal(err)
		}
	}
}

func links(t *testing.T) string {
	return cell.Sh(t, `ip -o link | cut -d: -f2 | sort`)
}

func (h *host) end(before string) {
	if h.Dead() {
		h.Agent = cell.Start(h.t, h.dir)
	}
	h.AuditEmpty(h.t)
	all, err := h.Networks(ctx)
	for _, n := range all {
		err = errors.Join(err, h.DeleteNetwork(ctx, n.Name))
	}
	if err != nil {
		h.t.Error(err)
	}
	h.AuditEmpty(h.t)
	world.NoTrace(h.t)
	if after := links(h.t); after != before {
		h.t.Errorf("links before:\n%s\nafter:\n%s", before, after)
	}
	if h.t.Failed() {
		log, _ := os.ReadFile(h.Log)
		h.t.Logf("agent's log:\n%s", log)
	}
}

// list reads a configuration list.
func list(t *testing.T, text string) *libcni.NetworkConfigList {
	t.Helper()
	l, err := libcni.NetworkConfFromBytes([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return l
}

const bridge = `"mode":"bridge","subnets":["10.20.0.0/24","fd20::/64"]`

// chain is a list whose first plugin is ours, with the keys given.
func chain(t *testing.T, version, keys string, more ...string) *libcni.NetworkConfigList {
	t.Helper()
	own := `{"type":"heddle-cni",` + keys + `,"capabilities":{"portMappings":true,"mac":true,"ips":true}}`
	return list(t, `{"cniVersion":"`+version+`","name":"blue","plugins":[`+strings.Join(append([]string{own}, more...), ",")+`]}`)
}

// container is an attachment to be made; its namespace is there.
func container(t *testing.T, id string) *libcni.RuntimeConf {
	t.Helper()
	return &libcni.RuntimeConf{ContainerID: id, NetNS: cell.Netns(t, id), IfName: "eth0"}
}

// mustAdd attaches and returns the result in the newest version.
func (h *host) mustAdd(l *libcni.NetworkConfigList, c *libcni.RuntimeConf) *current.Result {
	h.t.Helper()
	r, err := h.AddNetworkList(ctx, l, c)
	if err != nil {
		h.t.Fatalf("ADD %s: %v", c.ContainerID, err)
	}
	result, err := current.NewResultFromResult(r)
	if err != nil {
		h.t.Fatal(err)
	}
	return result
}

func (h *host) mustDel(l *libcni.NetworkConfigList, c *libcni.RuntimeConf) {
	h.t.Helper()
	if err := h.DelNetworkList(ctx, l, c); err != nil {
		h.t.Errorf("DEL %s: %v", c.ContainerID, err)
	}
}

// raw executes the plugin alone, without libcni's own checks and memory.
func (h *host) raw(command, conf, id, ifname, netns string, env ...string) (out string, failure *types.Error) {
	h.t.Helper()
	cmd := exec.Command(filepath.Join(h.plugins, "heddle-cni"))
	cmd.Env = append(os.Environ(), "CNI_COMMAND="+command, "CNI_CONTAINERID="+id, "CNI_IFNAME="+ifname, "CNI_NETNS="+netns, "CNI_PATH="+h.plugins)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin = strings.NewReader(conf)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if cmd.Run() == nil {
		return stdout.String(), nil
	}
	failure = &types.Error{}
	if err := json.Unmarshal(stdout.Bytes(), failure); err != nil {
		h.t.Fatalf("%s: no error on stdout: %q", command, stdout.String())
	}
	return "", failure
}

// code is a CNI error's code.
func code(err error) uint {
	var e *types.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// debian adds plugins of Debian's package.
func (h *host) debian(names ...string) {
	h.t.Helper()
	for _, name := range names {
		file := filepath.Join("/usr/lib/cni", name)
		if _, err := os.Stat(file); err != nil {
			h.t.Skip("Debian's package containernetworking-plugins is not installed:", err)
		}
		if err := os.Symlink(file, filepath.Join(h.plugins, name)); err != nil {
			h.t.Fatal(err)
		}
	}
}
