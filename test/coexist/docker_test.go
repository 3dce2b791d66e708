package coexist_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/soak"
)

// TestDocker meets a real dockerd, on either back end of iptables: it sets
// FORWARD DROP when it is the one that turns forwarding on.
func TestDocker(t *testing.T) {
	soak.Turn(t, 0)
	for _, backend := range []string{"nft", "legacy"} {
		t.Run(backend, func(t *testing.T) { dockerStory(t, backend) })
	}
}

func dockerStory(t *testing.T, backend string) {
	need(t, "dockerd", "docker", "containerd", "runc", "busybox", "tar", "iptables-"+backend, "ip6tables-"+backend)
	l := newLab(t)
	r := l.room(t)
	r.run(t, "ln", "-s", "/usr/sbin/xtables-"+backend+"-multi", "/run/bin/iptables")
	r.run(t, "ln", "-s", "/usr/sbin/xtables-"+backend+"-multi", "/run/bin/ip6tables")
	l.sysctl(t, "host", "net.ipv4.ip_forward=0")
	d := r.dockerd(t)
	if policy := r.run(t, "iptables", "-S", "FORWARD"); !strings.HasPrefix(policy, "-P FORWARD DROP") {
		t.Fatalf("dockerd did not set the policy:\n%s", policy)
	}
	r.image(t)
	l.opens(t, v4, 4)
	r.dockerWorks(t, "after Admit")

	d.stop(t)
	d = r.dockerd(t)
	t.Logf("a restart of dockerd removed %d of our rules", len(l.admit(t)))
	l.mustPass(t, "after a restart of dockerd")
	r.dockerWorks(t, "after a restart of dockerd")
	l.closes(t, v4)

	// Others flush the whole table and restart dockerd to fill it again.
	l.admit(t)
	r.run(t, "iptables", "-F", "FORWARD")
	d.stop(t)
	d = r.dockerd(t)
	l.opens(t, v4, 4)
	r.dockerWorks(t, "after a flush and a restart")
	d.stop(t)
	l.closes(t, v4)
}

// dockerWorks checks that a container on Docker's own bridge reaches the
// outside, and that Docker can still publish a port and make a network.
func (r *room) dockerWorks(t *testing.T, when string) {
	t.Helper()
	// the port of a container that has just started may not forward yet
	reach := []string{"box", "/bin/busybox", "sh", "-c", "for i in 0 1 2 3 4 5 6 7 8 9; do /bin/ping -c1 -W3 " + addresses["out"][0] + " && exit; done; exit 1"}
	out := r.run(t, append([]string{"docker", "run", "--rm"}, reach...)...)
	if !strings.Contains(out, " 0% packet loss") {
		t.Fatalf("%s: %s", when, out)
	}
	r.run(t, "docker", "network", "create", "extra")
	r.run(t, append([]string{"docker", "run", "--rm", "--network", "extra", "--publish", "8088:80"}, reach...)...)
	r.run(t, "docker", "network", "rm", "extra")
}

// image imports busybox alone, as the image "box".
func (r *room) image(t *testing.T) {
	t.Helper()
	r.run(t, "sh", "-ec", `
		mkdir -p /run/rootfs/bin
		cp "$(command -v busybox)" /run/rootfs/bin/
		ln -sf busybox /run/rootfs/bin/ping
		tar -C /run/rootfs -c . | docker import - box`)
}

// A daemon is one run of dockerd.
type daemon struct {
	cmd *exec.Cmd
	log bytes.Buffer
}

func (r *room) dockerd(t *testing.T) *daemon {
	t.Helper()
	group := fmt.Sprintf("heddle-coexist-%d", os.Getpid())
	d := &daemon{}
	args := r.args("dockerd", "--host", "unix:///run/docker.sock", "--pidfile", "/run/docker.pid",
		"--data-root", "/run/docker-data", "--exec-root", "/run/docker-exec", "--cgroup-parent", "/"+group)
	d.cmd = exec.Command(args[0], args[1:]...)
	d.cmd.Stdout, d.cmd.Stderr = &d.log, &d.log
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.stop(t)
		// The cgroup is the one thing that a room does not keep inside.
		for _, pattern := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
			left, _ := filepath.Glob(pattern + group)
			for _, folder := range left {
				os.Remove(folder)
			}
		}
	})
	_, err := poll.Until(5*time.Minute, 100*time.Millisecond, func() error {
		probe := r.args("docker", "info")
		return exec.Command(probe[0], probe[1:]...).Run()
	})
	if err != nil {
		d.stop(t)
		t.Fatalf("dockerd did not come up: %v\n%s", err, d.log.String())
	}
	return d
}

func (d *daemon) stop(t *testing.T) {
	if d.cmd.ProcessState != nil {
		return
	}
	d.cmd.Process.Signal(os.Interrupt)
	done := make(chan struct{})
	go func() { d.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		d.cmd.Process.Kill()
		<-done
		t.Errorf("dockerd did not stop:\n%s", d.log.String())
	}
}
