package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestRootless: called for a container of a user who is not root, the plugin says what to do, whether
// the agent is down or does not let the user in. A DEL finds nothing to do.
func TestRootless(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	p := plugin{dir: t.TempDir(), as: func(cmd *exec.Cmd) {
		own := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 65534, Size: 1}}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: own, GidMappings: own}
	}}
	conf := `{"cniVersion":"1.0.0","name":"blue"}`
	for _, agent := range []string{"down", "up"} {
		if agent == "up" {
			l, err := net.Listen("unix", p.socket())
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			// another user's, for the plugin in its user namespace is still this one outside
			if err := errors.Join(os.Chmod(p.socket(), 0o600), os.Chown(p.socket(), 1, 1)); err != nil {
				t.Fatal(err)
			}
		}
		for _, command := range []string{"ADD", "CHECK", "STATUS"} {
			p.fails(t, refused, "heddle attach NETWORK --pid PID", conf, "CNI_COMMAND="+command)
		}
		if exit, out, _ := p.run(t, conf, "CNI_COMMAND=DEL", "HEDDLE_CNI_QUEUE=/proc/none"); exit != 0 || out != "" {
			t.Errorf("agent %s: DEL: exit %d, %s", agent, exit, out)
		}
	}
}
