package runtimes_test

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// tellKilled kills Podman, netavark and the plugin at different moments of a run: while the plugin waits
// for an agent that stands still, and when the endpoint has just been made. Once Podman has removed its
// containers, and nobody holds a namespace that it forgot, nothing is left.
func (p podman) tellKilled() {
	middle := false
	for i, after := range []time.Duration{0, 0, 20 * time.Millisecond} {
		inTime := p.killed(9000+i, after, func() error {
			all, err := p.Endpoints(ctx)
			if err == nil && len(all) == 0 {
				err = errors.New("no endpoint")
			}
			return err
		})
		middle = middle || inTime
	}
	if !middle {
		p.t.Error("podman run was through with a new endpoint before it could be killed, each time")
	}
	agent := p.Pid()
	cell.Must(p.t, syscall.Kill(agent, syscall.SIGSTOP))
	defer syscall.Kill(agent, syscall.SIGCONT)
	stopped := p.killed(9010, 0, func() error {
		_, err := cell.TrySh("pgrep -f '[h]eddle setup /run/netns/'")
		return err
	})
	if !stopped {
		p.t.Error("podman run went on without the agent")
	}
	p.empty()
	p.run("a", "--network blue"+p.publish(8080))
	p.published("a", 8080)
}

// killed starts a container, and kills what starts it some time after something has happened. It reports
// whether that was before the end of podman run. What still holds the port then is of a container that
// Podman has forgotten.
func (p podman) killed(port int, after time.Duration, happened func() error) (inTime bool) {
	p.t.Helper()
	cmd := exec.Command("podman", "run", "-d", "--network", "blue", "-p", fmt.Sprintf("%d:80", port), "box", "/bin/sleep", "1000")
	var said strings.Builder
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &said, &said, time.Second // the monitor may keep them open
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cell.Must(p.t, cmd.Start())
	world.Within(p.t, time.Minute, fmt.Sprintf("podman run comes to the point, and %s more", after), happened)
	time.Sleep(after)
	cell.Must(p.t, syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
	var exit *exec.ExitError
	err := cmd.Wait()
	inTime = errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled()
	if !inTime && err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		p.t.Errorf("podman run: %v %s", err, said.String())
	}
	cell.Must(p.t, syscall.Kill(p.Pid(), syscall.SIGCONT)) // if it stands still
	p.clear()
	if left := cell.Sh(p.t, `for pid in $(ss -Hltnp "sport = :%d" | grep -o 'pid=[0-9]*' | cut -d = -f 2 | sort -u); do ps -o pid=,args= $pid; kill -KILL $pid; done`, port); left != "" {
		p.t.Logf("Podman has forgotten %.300s", left)
	}
	cell.Sh(p.t, `for ns in /run/netns/netns-*; do test ! -e $ns || { umount -l $ns || true; rm $ns; }; done`)
	p.empty()
	return inTime
}
