package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/cell"
)

// TestEtcd shares networks through an etcd that is Debian's, on one of the hosts,
// which then loses its data: nothing is taken from anybody, and the status says
// what happened.
func TestEtcd(t *testing.T) {
	cell.Need(t)
	if _, err := exec.LookPath("etcd"); err != nil {
		t.Skip("needs etcd (package etcd-server)")
	}
	ctx := context.Background()
	f := raise(t, lab.Topology{Name: "etcd", Store: lab.StoreEtcd, Etcd: []string{"host1"}, Hosts: plainHosts(3)})
	// an agent is there before its store
	f.everywhere(t, "the store is reached", func(h *host) error {
		st, err := h.Status(ctx)
		for _, p := range st.Parts {
			if p.Name == "store" && p.State == "ok" {
				return nil
			}
		}
		return errors.Join(err, fmt.Errorf("%v", st.Parts))
	})
	f.network(t, "app", "10.10.0.0/24", "fd10::/64")
	pods := f.onePod(t, "app")
	meet(t, pods)
	f.hosts[0].loseEtcd(t)
	f.everywhere(t, "the status says that the store lost its data", func(h *host) error {
		st, err := h.Status(ctx)
		for _, p := range st.Parts {
			if p.Name == "store" && p.State == "bad" && strings.Contains(p.Detail, "HDL-8004") {
				return nil
			}
		}
		return fmt.Errorf("%v: %w", st.Parts, err)
	})
	late := f.hosts[1].attach(t, "late", "app")
	for _, p := range pods {
		late.Reaches(t, p.addrs()...)
	}
	if out, err := f.hosts[2].tryCLI(t, "network", "create", "more", "--mode", "overlay", "--subnet", "10.12.0.0/24"); err == nil {
		t.Errorf("a network was made in a store that lost its data:\n%s", out)
	}
	for _, p := range append(pods, late) {
		p.detach(t)
	}
}

// loseEtcd ends the etcd of the host, and starts it again with an empty folder.
func (h *host) loseEtcd(t *testing.T) {
	t.Helper()
	cmd, err := h.Command(context.Background(), "sh", "-c", `
		pid=$(pidof etcd); tr '\0' '\n' </proc/$pid/cmdline >/run/etcd.args; kill -9 $pid
		while kill -0 $pid 2>/dev/null; do sleep 0.1; done
		rm -rf /run/etcd; xargs -d '\n' -a /run/etcd.args setsid -f >/run/etcd.log 2>&1 </dev/null`)
	if err == nil {
		var out []byte
		if out, err = cmd.CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
	}
	if err != nil {
		t.Fatalf("lose the data of etcd on %s: %v", h.Host.Name, err)
	}
	time.Sleep(time.Second)
}
