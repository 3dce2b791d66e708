package join_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/poll"
)

// TestForceNewStore loses two of three keepers for good: the third one goes on
// alone with all hosts and networks, and the cluster grows again.
func TestForceNewStore(t *testing.T) {
	h := newHosts(t, 4)
	force := []string{"--store", "embedded", "--underlay", "eth0", "--force-new-store"}
	h.start(1, "--store", "embedded", "--underlay", "eth0")
	address := h.host(1).Addr4.String()
	token := strings.TrimSpace(h.must(1, "host", "token", "--uses", "2"))
	for i := 2; i <= 3; i++ {
		h.join(i, address, token)
	}
	h.must(1, "host", "promote", "host2", "host3")
	h.await(1, "host1=voter/alive", "host2=voter/alive", "host3=voter/alive")
	h.must(1, "network", "create", "web", "--mode", "overlay", "--subnet", "10.20.0.0/16")
	h.knows(3, "web")

	h.kill(3)
	h.notForced(3, "members of the store answer", force) // the store is well
	h.notForced(4, "no part in an embedded store", force)
	for _, i := range []int{1, 2} {
		h.kill(i)
	}
	h.start(3, force...)
	_, err := poll.Until(patience, 100*time.Millisecond, func() error {
		if all := h.list(3); len(all) != 3 || all["host3"].State != "alive" {
			return fmt.Errorf("the hosts are %v", all)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h.attach(3, "c1")

	// a keeper that was dropped and comes back is a host as others are
	h.start(2, "--store", "embedded", "--underlay", "eth0")
	if _, err := poll.Until(patience, 200*time.Millisecond, poll.True(func() bool { return h.serves(2) })); err != nil {
		out, _ := h.run(2, h.heddle, "status")
		h.Fatalf("host2 does not serve:\n%s", out)
	}
	h.kill(2)
	h.run(1, "sh", "-c", "rm -r /var/lib/heddle/*")

	for _, name := range []string{"host1", "host2"} {
		h.removed(3, name)
	}
	h.await(3, "host3=voter/alive")
	address = h.host(3).Addr4.String()
	token = strings.TrimSpace(h.must(3, "host", "token", "--uses", "2"))
	h.join(4, address, token)
	h.join(1, address, token) // under its old name
	h.must(3, "host", "promote", "host4", "host1")
	h.await(4, "host1=voter/alive", "host3=voter/alive", "host4=voter/alive")
	h.knows(4, "web")
	h.attach(4, "c4")

	h.kill(3)
	h.notForced(3, "is done", force)
	h.start(3, "--store", "embedded", "--underlay", "eth0")
	h.await(3, "host1=voter/alive", "host3=voter/alive", "host4=voter/alive")
	h.must(3, "audit")
}

// serves reports whether a network that host 3 makes is on a host.
func (h *hosts) serves(i int) bool {
	h.Helper()
	h.run(3, h.heddle, "network", "create", "proof", "--mode", "overlay", "--subnet", "10.30.0.0/24")
	out, code := h.run(i, h.heddle, "network", "list")
	return code == 0 && strings.Contains(out, "proof")
}

// notForced starts an agent that refuses the flag.
func (h *hosts) notForced(i int, word string, args []string) {
	h.Helper()
	out, exit := h.run(i, append([]string{h.heddled}, args...)...)
	if exit != int(heddle.Usage) || !strings.Contains(out, "--force-new-store") || !strings.Contains(out, word) {
		h.Errorf("host%d: exit %d\n%s", i, exit, out)
	}
}

// knows waits until a host has a network.
func (h *hosts) knows(i int, network string) {
	h.Helper()
	_, err := poll.Until(patience, 100*time.Millisecond, func() error {
		if out, code := h.run(i, h.heddle, "network", "list"); code != 0 || !strings.Contains(out, network) {
			return fmt.Errorf("exit %d\n%s", code, out)
		}
		return nil
	})
	if err != nil {
		h.Fatalf("host%d has no network %s: %v", i, network, err)
	}
}

// attach gives a new container an address of the cluster's network.
func (h *hosts) attach(i int, name string) {
	h.Helper()
	if out, code := h.run(i, "ip", "netns", "add", name); code != 0 {
		h.Fatal(out)
	}
	h.must(i, "attach", "web", "--netns", name)
}

// removed removes a host that has just died: the command waits until the store has noticed.
func (h *hosts) removed(by int, name string) {
	h.Helper()
	if out, code := h.run(by, h.heddle, "host", "remove", name); code != 0 {
		h.Fatalf("remove %s: exit %d\n%s", name, code, out)
	}
}
