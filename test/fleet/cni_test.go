package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// conflist is the same file on every host.
const conflist = `{"cniVersion": "1.0.0", "name": "pods", "type": "heddle-cni", "mode": "overlay",
	"subnets": ["10.30.0.0/16", "fd30::/64"]}`

// cni calls the plugin as a runtime on the host does.
func (h *host) cni(plugin, verb, container string) ([]byte, error) {
	cmd, err := h.Command(context.Background(), "env", "CNI_COMMAND="+verb, "CNI_CONTAINERID="+container, "CNI_IFNAME=eth0",
		"CNI_NETNS=/run/netns/"+container, "CNI_PATH=/opt/cni/bin", plugin)
	if err != nil {
		return nil, err
	}
	cmd.Stdin = strings.NewReader(conflist)
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok {
		err = fmt.Errorf("%w: %s %s", err, out, exit.Stderr)
	}
	return out, err
}

// TestCNI has the runtimes of all hosts call at once with one configuration: the
// first call makes the network, for all.
func TestCNI(t *testing.T) {
	soak.Turn(t, 1)
	f := newCluster(t, 3)
	plugin := cell.Build(t, "heddle-cni")
	const each = 4
	var mu sync.Mutex
	var all []netip.Addr
	var namespaces []world.Netns
	f.parallel(func(h *host) {
		for i := range each {
			name := fmt.Sprintf("%s-%d", h.Host.Name, i)
			cmd, err := h.Command(context.Background(), "ip", "netns", "add", name)
			if err == nil {
				err = cmd.Run()
			}
			var out []byte
			if err == nil {
				out, err = h.cni(plugin, "ADD", name)
			}
			var result struct {
				IPs []struct{ Address netip.Prefix }
			}
			if err == nil {
				err = json.Unmarshal(out, &result)
			}
			if err != nil {
				t.Errorf("ADD on %s: %v", h.Host.Name, err)
				return
			}
			mu.Lock()
			for _, ip := range result.IPs {
				all = append(all, ip.Address.Addr())
			}
			namespaces = append(namespaces, world.Netns{Name: name, Path: fmt.Sprintf("/proc/%d/root/run/netns/%s", h.Pid, name)})
			mu.Unlock()
		}
	})
	seen := map[netip.Addr]bool{}
	for _, a := range all {
		if seen[a] {
			t.Errorf("%s was given out twice", a)
		}
		seen[a] = true
	}
	if len(seen) != 2*3*each {
		t.Fatalf("%d addresses, want %d", len(seen), 2*3*each)
	}
	for _, p := range namespaces[:3] {
		for _, a := range all {
			world.Within(t, time.Minute, p.Name+" reaches "+a.String(), func() error { return p.Ping(a, "-W1") })
		}
	}
	f.parallel(func(h *host) {
		for i := range each {
			name := fmt.Sprintf("%s-%d", h.Host.Name, i)
			if _, err := h.cni(plugin, "DEL", name); err != nil {
				t.Errorf("DEL on %s: %v", h.Host.Name, err)
			}
		}
	})
}
