package docker_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// TestManagedPlugin takes the agent into a dockerd as a plugin, made from a folder:
// containers get networks from it, keep them while it is away, and the host's
// command line reaches it.
func TestManagedPlugin(t *testing.T) {
	soak.Turn(t, 1)
	docker.Need(t, "nft", "iptables-legacy", "ldd")
	h := docker.NewBare(t, 1).Hosts[0]
	// as systemd has it: containers' namespaces that come later are seen
	h.Run(t, "mount", "--make-rshared", "/run")
	h.StartDocker(t)
	h.Image(t)
	folder := filepath.Join(t.TempDir(), "plugin")
	build := exec.Command("../../packaging/docker/plugin.sh", folder)
	build.Env = append(os.Environ(), "HEDDLE_BIN="+programs(t))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h.Docker(t, "plugin", "create", "heddle", folder)
	h.Docker(t, "plugin", "enable", "heddle")
	world.Within(t, time.Minute, "agent in the plugin", func() error { _, err := h.TryHeddle(t, "status"); return err })
	for _, mode := range []string{"bridge", "overlay"} {
		// the first network of a mode is tried out before; on a busy machine that
		// takes longer than Docker is let wait
		world.Within(t, time.Minute, "network of mode "+mode, func() error {
			out, err := h.TryDocker("network", "create", "-d", "heddle:latest", "--ipam-driver", "heddle:latest", "-o", "mode="+mode, mode+"0")
			if err != nil {
				err = fmt.Errorf("%w\n%s", err, out)
			}
			return err
		})
	}
	h.Docker(t, "run", "-d", "--name", "c1", "--net", "bridge0", "box", "sleep", "1000")
	ping := func(what string) {
		t.Helper()
		world.Within(t, time.Minute, "ping "+what, func() error {
			out, err := h.TryDocker("run", "--rm", "--net", "bridge0", "box", "ping", "-c1", "-W5", "c1")
			if err != nil {
				err = fmt.Errorf("%w\n%s", err, out)
			}
			return err
		})
	}
	ping("by name")
	h.Docker(t, "run", "--rm", "--net", "overlay0", "box", "true")
	for _, verb := range []string{"check", "audit"} {
		if out, err := h.TryHeddle(t, verb); err != nil {
			t.Errorf("%s: %v\n%s", verb, err, out)
		}
	}
	gateway := strings.Fields(h.Docker(t, "exec", "c1", "ip", "route"))[2]
	h.Docker(t, "plugin", "disable", "-f", "heddle")
	h.Docker(t, "exec", "c1", "ping", "-c1", "-W5", gateway)
	h.Docker(t, "plugin", "enable", "heddle")
	world.Within(t, time.Minute, "agent in the plugin", func() error { _, err := h.TryHeddle(t, "status"); return err })
	ping("after the plugin was away")
	h.Docker(t, "rm", "-f", "c1")
	h.Docker(t, "network", "rm", "bridge0", "overlay0")
	if out, err := h.TryHeddle(t, "audit"); err != nil {
		t.Errorf("at the end: %v\n%s", err, out)
	}
	h.Docker(t, "plugin", "disable", "-f", "heddle")
	h.Docker(t, "plugin", "rm", "heddle")
}

// programs is a folder with heddle and heddled.
func programs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, p := range []string{"heddle", "heddled"} {
		if err := os.Symlink(cell.Build(t, p), filepath.Join(dir, p)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
