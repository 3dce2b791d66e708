package lab_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/poll"
)

// A container daemon runs in each of two hosts at once, without knowing of the
// other or of the machine, and goes down with its host.
func TestContainerDaemon(t *testing.T) {
	for _, tool := range []string{"dockerd", "docker", "iptables", "busybox"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s (Debian: docker.io, iptables, busybox-static)", tool)
		}
	}
	l := up(t, lab.Options{Name: "docker", Hosts: 2, NoAgent: true})
	image := rootfs(t)
	for _, h := range l.Hosts {
		in(t, l, h.Name, "sh", "-c", startDocker)
	}
	for _, h := range l.Hosts {
		start := time.Now()
		awaitDocker(t, l, h.Name)
		t.Logf("%s: dockerd answers after %v more", h.Name, time.Since(start))
		in(t, l, h.Name, "docker", "import", image, "img")
		in(t, l, h.Name, "docker", "run", "--rm", "--network", "none", "--memory", "32m", "img", "true")
		in(t, l, h.Name, "docker", "run", "-d", "--name", h.Name, "img", "sleep", "3600")
		if out := in(t, l, h.Name, "docker", "ps", "--format", "{{.Names}}"); out != h.Name {
			t.Errorf("%s runs %q", h.Name, out)
		}
	}
	if out, err := exec.Command("docker", "ps").CombinedOutput(); err == nil && strings.Contains(string(out), "host1") {
		t.Error("the machine's daemon runs a host's container")
	}
}

const startDocker = `setsid dockerd --data-root /var/lib/docker --exec-root /run/docker -H unix:///run/docker.sock \
	--storage-driver vfs >/run/dockerd.log 2>&1 </dev/null &`

func awaitDocker(t *testing.T, l *lab.Lab, host string) {
	t.Helper()
	_, err := poll.Until(3*time.Minute, 100*time.Millisecond, func() error {
		_, err := try(t, l, host, "docker", "version")
		return err
	})
	if err != nil {
		t.Fatalf("dockerd of %s does not answer: %v\n%s", host, err, in(t, l, host, "tail", "-n", "30", "/run/dockerd.log"))
	}
}

// rootfs packs a file system with nothing but busybox.
func rootfs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file := dir + "/rootfs.tar"
	script := `mkdir -p "$0/root/bin" && cp "$(command -v busybox)" "$0/root/bin/" &&
		for a in sh true sleep; do ln -s busybox "$0/root/bin/$a"; done && tar -C "$0/root" -cf "$1" .`
	if out, err := exec.Command("sh", "-c", script, dir, file).CombinedOutput(); err != nil {
		t.Fatalf("pack the image: %v\n%s", err, out)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	return file
}
