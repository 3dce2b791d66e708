package runtimes_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

const criSocket = "/run/containerd/containerd.sock"

// containerd is a host with Debian's containerd, whose CRI service is called as
// a kubelet does.
type containerd struct {
	*host
	cri    criClient
	daemon *exec.Cmd
	log    *bytes.Buffer
	group  string
}

// daemonConfig is Debian's, where the CNI plugins lie in /usr/lib/cni, with the
// image made here for the sandboxes, and a snapshotter that every file system
// has.
const daemonConfig = `version = 2
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/box:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
`

func newContainerd(t *testing.T) *containerd {
	t.Helper()
	h := newHost(t, "containerd runc containernetworking-plugins busybox-static", "containerd", "ctr", "runc", "busybox", "/usr/lib/cni/loopback")
	c := &containerd{host: h, cri: newCRI(t), log: &bytes.Buffer{}, group: cgroup(t)}
	cell.Sh(t, "ln -sf /opt/cni/bin/heddle-cni /usr/lib/cni/ && mkdir -p /etc/containerd /etc/cni/net.d && rm -f /etc/cni/net.d/*")
	write(t, "/etc/containerd/config.toml", daemonConfig)
	c.start()
	t.Cleanup(c.stop)
	t.Cleanup(c.clear)
	cell.Sh(t, "ctr -n k8s.io images import --snapshotter native %s", image(t, rootfs(t), "localhost/box:1"))
	return c
}

func (c *containerd) start() {
	c.t.Helper()
	c.daemon = exec.Command("containerd")
	c.daemon.Stdout, c.daemon.Stderr = c.log, c.log
	c.daemon.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.daemon.Start(); err != nil {
		c.t.Fatal(err)
	}
	world.Within(c.t, 2*time.Minute, "containerd answers", func() error {
		_, err := c.cri.call("Version", nil)
		return err
	})
}

// stop ends the daemon; the containers go on.
func (c *containerd) stop() {
	c.daemon.Process.Signal(syscall.SIGTERM)
	killer := time.AfterFunc(2*time.Minute, func() { c.daemon.Process.Kill() })
	c.daemon.Wait()
	if !killer.Stop() {
		c.t.Error("containerd did not stop")
	}
	if c.t.Failed() {
		c.t.Logf("containerd's log:\n%s", c.log)
	}
}

// clear removes all sandboxes.
func (c *containerd) clear() {
	c.t.Helper()
	for _, id := range c.sandboxes() {
		c.cri.must(c.t, "StopPodSandbox", fields{"pod_sandbox_id": id})
		c.cri.must(c.t, "RemovePodSandbox", fields{"pod_sandbox_id": id})
	}
}

func (c *containerd) sandboxes() (ids []string) {
	c.t.Helper()
	for _, s := range c.cri.must(c.t, "ListPodSandbox", nil).Items {
		ids = append(ids, s.ID)
	}
	return ids
}

// networkReady is what containerd tells the kubelet.
func (c *containerd) networkReady() bool {
	c.t.Helper()
	for _, s := range c.cri.must(c.t, "Status", nil).Status.Conditions {
		if s.Type == "NetworkReady" {
			return s.Status
		}
	}
	return false
}

// network puts the mode's configuration in place, and waits until containerd
// has read it.
func (c *containerd) network(w wiring) {
	c.t.Helper()
	c.surround(w, 20)
	name := "cri-" + w.mode
	// as the guide says: containerd 1.6 sees a file that is renamed in the folder,
	// but not one that is renamed into it
	write(c.t, "/etc/cni/net.d/.10-heddle.tmp", w.conflist(name, 20))
	cell.Sh(c.t, "mv /etc/cni/net.d/.10-heddle.tmp /etc/cni/net.d/10-heddle.conflist")
	world.Within(c.t, 2*time.Minute, "containerd reads its configuration", func() error {
		info := c.cri.must(c.t, "Status", fields{"verbose": true}).Info["cniconfig"]
		if !strings.Contains(info, `"`+name+`"`) {
			return fmt.Errorf("it has %s", info)
		}
		return nil
	})
	if !c.networkReady() {
		c.t.Error("the network is not ready with a configuration")
	}
}

// sandbox is a pod sandbox with one container in it, which serves at port 80.
type sandbox struct {
	id, container string
	config        fields
	world.Netns
	endpoint heddle.Endpoint
}

// sandboxConfig asks for a sandbox with its port 80 published at the port given,
// unless that is 0, over TCP and UDP, where ports are published.
func (c *containerd) sandboxConfig(name string, port int) fields {
	config := fields{"metadata": fields{"name": name, "uid": name, "namespace": "default"}, "linux": fields{"cgroup_parent": "/" + c.group}}
	if port != 0 && !c.wiring.onLAN {
		config["port_mappings"] = []fields{{"protocol": 0, "container_port": 80, "host_port": port}, {"protocol": 1, "container_port": 80, "host_port": port}}
	}
	return config
}

func (c *containerd) run(name string, port int) *sandbox {
	c.t.Helper()
	s := &sandbox{config: c.sandboxConfig(name, port)}
	s.id = c.cri.must(c.t, "RunPodSandbox", fields{"config": s.config}).Sandbox
	s.endpoint = c.endpoint(s.id, "eth0")
	s.Netns = world.Netns{Name: name, Path: s.endpoint.Netns}
	c.serve(s)
	return s
}

// serve starts a container in the sandbox.
func (c *containerd) serve(s *sandbox) {
	c.t.Helper()
	config := fields{"metadata": fields{"name": "serve"}, "image": fields{"image": "localhost/box:1"}, "command": []string{"/bin/serve", s.Name, "80"}, "linux": fields{}}
	s.container = c.cri.must(c.t, "CreateContainer", fields{"pod_sandbox_id": s.id, "config": config, "sandbox_config": s.config}).Container
	c.cri.must(c.t, "StartContainer", fields{"container_id": s.container})
	c.serves(s.Netns, 80)
}

// shows checks that containerd tells the endpoint's addresses.
func (c *containerd) shows(s *sandbox) {
	c.t.Helper()
	n := c.cri.must(c.t, "PodSandboxStatus", fields{"pod_sandbox_id": s.id}).Status.Network
	got := []netip.Addr{n.IP}
	for _, a := range n.More {
		got = append(got, a.IP)
	}
	if want := addrs(s.endpoint); fmt.Sprint(got) != fmt.Sprint(want) {
		c.t.Errorf("containerd shows %v, the endpoint has %v", got, want)
	}
}

func (c *containerd) end(s *sandbox) {
	c.t.Helper()
	c.cri.must(c.t, "StopPodSandbox", fields{"pod_sandbox_id": s.id})
	c.cri.must(c.t, "StopPodSandbox", fields{"pod_sandbox_id": s.id})
	c.cri.must(c.t, "RemovePodSandbox", fields{"pod_sandbox_id": s.id})
}
