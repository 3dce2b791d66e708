package install_test

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/soak"
)

// The addresses of the walk's hosts (RFC 5737).
const (
	walk1 = "192.0.2.1"
	walk2 = "192.0.2.2"
)

// TestWalk goes from two bare Debians with systemd to containers that reach each other by name, paste by
// paste of docs/guides/two-hosts.md, in less than five minutes; longer where others use the processors,
// too. What is copied between the hosts is copied from outside.
func TestWalk(t *testing.T) {
	soak.Turn(t, 0)
	if testing.Short() {
		t.Skip("starts two Debians")
	}
	text, err := os.ReadFile("../../docs/guides/two-hosts.md")
	if err != nil {
		t.Fatal(err)
	}
	pastes := blockPattern.FindAllStringSubmatch(string(text), -1)
	if len(pastes) != 4 {
		t.Fatalf("the guide has %d blocks", len(pastes))
	}
	path := deb(t, "")
	hosts := map[string]host{"host1": newHost(t, "host1", path), "host2": newHost(t, "host2", path)}
	one, two := hosts["host1"], hosts["host2"]
	must(t, nil, "ip", "link", "add", "eth0", "netns", one.init, "type", "veth", "peer", "name", "eth0", "netns", two.init)
	one.types(t, "hostname host1; ip address add "+walk1+"/24 dev eth0; ip link set eth0 up; ip route add default via "+walk2)
	two.types(t, "hostname host2; ip address add "+walk2+"/24 dev eth0; ip link set eth0 up; ip route add default via "+walk1)

	begin := time.Now()
	var last string
	for i, m := range pastes {
		h, found := hosts[m[1]]
		if !found {
			t.Fatalf("a block for %q", m[1])
		}
		last = h.types(t, strings.ReplaceAll(m[2], "HOST1", walk1))
		if i == 0 {
			copyFile(t, one, two, "join.token")
		}
	}
	took := time.Since(begin)
	if !strings.Contains(last, " 1 received") {
		t.Errorf("the last paste:\n%s", last)
	}
	if limit := 300 * max(1, load(t)/float64(runtime.NumCPU())); took.Seconds() >= limit { // processors are shared
		t.Errorf("from the first paste to the ping: %.1f s, and %.1f are the limit", took.Seconds(), limit)
	}
	t.Logf("from the first paste to the ping: %.1f s", took.Seconds())
}

// load is the number of threads that ran or wanted to run in the last minute.
func load(t *testing.T) float64 {
	t.Helper()
	return number(t, "/proc", "loadavg")
}

// copyFile copies a file of root's folder, as its owner's alone.
func copyFile(t *testing.T, from, to host, name string) {
	t.Helper()
	must(t, nil, "install", "-m", "0600", "/proc/"+from.init+"/root/root/"+name, "/proc/"+to.init+"/root/root/"+name)
}
