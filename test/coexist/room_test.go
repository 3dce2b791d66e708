package coexist_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/poll"
)

// A room is a mount namespace on the host's network: /run, /etc, /tmp and
// /var/lib are copies or empty, so that dockerd and ufw leave no trace on the
// machine. The cgroups stay mounted, which "ip netns exec" would hide.
type room struct {
	holder string
}

func (l *lab) room(t *testing.T) *room {
	t.Helper()
	need(t, "unshare", "sleep", "cp", "mount")
	holder := exec.Command("nsenter", "--net=/run/netns/"+l.prefix+"host", "unshare", "--mount", "--propagation", "private", "sh", "-ec", `
		mount -t tmpfs run /run
		mkdir /run/bin /run/lock
		cp -a /etc /run/etc
		mount --bind /run/etc /etc
		mount -t tmpfs tmp /tmp
		touch /run/ready
		exec sleep 1000`)
	holder.Stderr = os.Stderr
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	r := &room{holder: strconv.Itoa(holder.Process.Pid)}
	t.Cleanup(func() { holder.Process.Kill(); holder.Wait() })
	poll.For(t, 2*time.Minute, 20*time.Millisecond, "the mount namespace comes up", func() bool {
		return exec.Command("test", "-e", "/proc/"+r.holder+"/root/run/ready").Run() == nil
	})
	return r
}

// args is a command line that enters the room. /run/bin comes first in PATH,
// for programs under other names.
func (r *room) args(args ...string) []string {
	return append([]string{"nsenter", "-t", r.holder, "--mount", "--net", "env",
		"PATH=/run/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DOCKER_HOST=unix:///run/docker.sock"}, args...)
}

func (r *room) run(t *testing.T, args ...string) string {
	t.Helper()
	return run(t, "", r.args(args...)...)
}

// TestUfw meets ufw, which denies what is routed, and its reload.
func TestUfw(t *testing.T) {
	need(t, "ufw")
	l := newLab(t)
	r := l.room(t)
	r.run(t, "ufw", "default", "deny", "routed")
	r.run(t, "ufw", "allow", "22/tcp")
	if out := r.run(t, "ufw", "--force", "enable"); !strings.Contains(out, "active") {
		t.Fatal(out)
	}
	l.opens(t, both|tcpOnly, 8)
	before := l.theirs(t)
	if out := r.run(t, "ufw", "reload"); !strings.Contains(out, "reloaded") {
		t.Fatal(out)
	}
	t.Logf("ufw reload removed %d of our rules", len(l.admit(t)))
	l.mustPass(t, "after ufw reload")
	l.unchanged(t, before, "after ufw reload")
	r.run(t, "ufw", "route", "deny", "from", "192.0.2.0/24")
	t.Logf("ufw route deny removed %d of our rules", len(l.admit(t)))
	l.mustPass(t, "after ufw route deny")
	if out := r.run(t, "ufw", "status", "verbose"); !strings.Contains(out, "deny (routed)") || !strings.Contains(out, "192.0.2.0/24") {
		t.Fatal(out)
	}
	l.closes(t, both|tcpOnly)
	l.admit(t)
	r.run(t, "ufw", "disable")
	l.admit(t)
	l.mustPass(t, "after ufw disable")
}
