package hardship_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

const unitFile = "../../packaging/systemd/heddled.service"

// asUnit is the command that starts a program with the rights of the unit.
func asUnit(t *testing.T) []string {
	t.Helper()
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("needs setpriv (package util-linux)")
	}
	text, err := os.ReadFile(unitFile)
	cell.Must(t, err)
	m := regexp.MustCompile(`(?m)^CapabilityBoundingSet=(.*)$`).FindSubmatch(text)
	if m == nil {
		t.Fatal("the unit has no CapabilityBoundingSet")
	}
	set := "-all"
	for _, c := range strings.Fields(string(m[1])) {
		set += ",+" + strings.ToLower(strings.TrimPrefix(c, "CAP_"))
	}
	return []string{"setpriv", "--bounding-set=" + set, "--inh-caps=-all", "--ambient-caps=-all", "--no-new-privs"}
}

// TestUnitRights: the capabilities that the unit leaves suffice for all that the
// agent does, legacy iptables of others included.
func TestUnitRights(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		under, dir := asUnit(t), folder(t)
		legacy := legacyDrop(t)
		d := newDaemonUnder(t, under, dir, "--socket-group", group).ready(t)
		a := &cell.Agent{Client: d.Client, Socket: d.socket()}
		createNetwork(t, a, mode, 0)
		attach(t, a, 0, "one")
		end := startPing(t, "one", attach(t, a, 0, "two"))
		for name, unshare := range map[string]string{"user": "setpriv --reuid=65534 --regid=65534 --clear-groups sleep 3600", "userns": "unshare -U -r -n sleep 3600"} {
			byPid(t, a, name, unshare)
		}
		if rules := cell.Sh(t, "iptables-legacy -S FORWARD 2>/dev/null || true"); legacy && !strings.Contains(rules, "heddle:admit") {
			t.Errorf("legacy chain not opened:\n%s", rules)
		}
		end()
		a.AuditEmpty(t)
		d.stop()
		d = newDaemonUnder(t, under, dir).ready(t)
		a = &cell.Agent{Client: d.Client, Socket: d.socket()}
		for _, pod := range []string{"one", "two", "user", "userns"} {
			detach(t, a, pod)
		}
		cell.Must(t, a.DeleteNetwork(ctx, "net0"))
		a.AuditEmpty(t)
		d.stop()
		if out := d.output.String(); strings.Contains(out, "level=ERROR") {
			t.Errorf("the agent complains:\n%s", out)
		}
	})
}

// legacyDrop makes the legacy filter table drop what is forwarded, as dockerd
// on an old host does; false where the kernel has none.
func legacyDrop(t *testing.T) bool {
	t.Helper()
	if out, err := cell.TrySh("iptables-legacy -P FORWARD DROP && ip6tables-legacy -P FORWARD DROP"); err != nil {
		t.Logf("without legacy tables: %s", out)
		return false
	}
	t.Cleanup(func() {
		cell.TrySh("for t in iptables-legacy ip6tables-legacy; do $t -P FORWARD ACCEPT; $t -F FORWARD; done")
	})
	return true
}

// byPid attaches a running process that belongs to somebody else.
func byPid(t *testing.T, a *cell.Agent, name, program string) {
	t.Helper()
	cmd := exec.Command("unshare", append([]string{"-n"}, strings.Fields(program)...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cell.Must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	world.Within(t, time.Minute, "it is what it is going to be", func() error {
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", cmd.Process.Pid))
		if err == nil && string(comm) != "sleep\n" {
			err = fmt.Errorf("it is %s", comm)
		}
		return err
	})
	_, err := a.Attach(ctx, heddle.AttachRequest{Network: "net0", ID: endpointID(name), Netns: fmt.Sprintf("/proc/%d/ns/net", cmd.Process.Pid)})
	if err != nil {
		t.Errorf("attach a container of %s: %v", name, err)
	}
}
