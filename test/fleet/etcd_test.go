package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
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
		if st.Part("store").State == "ok" {
			return nil
		}
		return errors.Join(err, fmt.Errorf("%v", st.Parts))
	})
	f.network(t, "app", "10.10.0.0/24", "fd10::/64")
	pods := f.onePod(t, "app")
	meet(t, pods)
	f.hosts[0].loseEtcd(t)
	f.everywhere(t, "the status says that the store lost its data", func(h *host) error {
		st, err := h.Status(ctx)
		if p := st.Part("store"); p.State == "bad" && strings.Contains(p.Detail, "HDL-8004") {
			return nil
		}
		return fmt.Errorf("%v: %w", st.Parts, err)
	})
	late := f.hosts[1].attach(t, "late", "app")
	for _, p := range pods {
		late.finds(t, p.addrs()...)
	}
	if out, err := f.hosts[2].tryCLI(t, "network", "create", "more", "--mode", "overlay", "--subnet", "10.12.0.0/24"); err == nil {
		t.Errorf("a network was made in a store that lost its data:\n%s", out)
	}
	for _, p := range append(pods, late) {
		p.detach(t)
	}
}

// TestStalePin has the store say, when an agent starts, that an address of one of its
// endpoints is another host's: the endpoint has it, and the agent comes up.
func TestStalePin(t *testing.T) {
	soak.Turn(t, 2)
	cell.Need(t)
	for _, program := range []string{"etcd", "etcdctl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("needs etcd and etcdctl (packages etcd-server, etcd-client)")
		}
	}
	ctx := context.Background()
	f := raise(t, lab.Topology{Name: "pin", Store: lab.StoreEtcd, Etcd: []string{"host1"}, Hosts: plainHosts(2)})
	f.network(t, "app", "10.10.0.0/24", "")
	pods := f.onePod(t, "app")
	meet(t, pods)
	n, err := f.hosts[0].Network(ctx, "app")
	if err != nil {
		t.Fatal(err)
	}
	all, err := f.hosts[1].Hosts(ctx)
	i := slices.IndexFunc(all, func(s client.HostStatus) bool { return s.Self })
	if err != nil || i < 0 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, h := range f.hosts {
		h.kill(t)
	}
	f.hosts[0].Sh(t, `ETCDCTL_API=3 etcdctl put /heddle/hosts/%s/pins/%s/%s '{"host":"%s"}'`, all[i].Name, n.ID, pods[0].Addrs[0].Addr(), all[i].ID)
	f.hosts[0].start(t)
	if e, err := f.hosts[0].Endpoint(ctx, pods[0].ID); err != nil || !slices.Equal(e.Addrs, pods[0].Addrs) {
		t.Fatalf("%+v, %v", e, err)
	}
	f.hosts[1].start(t) // gives back what it knows nothing of
	world.Within(t, time.Minute, "the pin is gone", func() error {
		if left := strings.TrimSpace(f.hosts[0].Sh(t, "ETCDCTL_API=3 etcdctl get --prefix --keys-only /heddle/hosts/%s/pins/", all[i].Name)); left != "" {
			return errors.New(left)
		}
		return nil
	})
	meet(t, pods)
	for _, p := range pods {
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
