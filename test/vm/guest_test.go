package vm

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// run runs a command line in the guest and returns what it printed.
func run(t *testing.T, line string) string {
	t.Helper()
	words := strings.Fields(line)
	out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// needGuest keeps a test on the guest's side, and needs its tools to be on this machine.
func needGuest(t *testing.T, tools ...string) {
	t.Helper()
	if !InGuest() {
		t.Skip("runs in a guest, by TestInGuests")
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s was not on the host", tool)
		}
	}
}

func TestGuestKernel(t *testing.T) {
	needGuest(t)
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s %s", unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Version[:]))
	uptime, err := os.ReadFile("/proc/uptime")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seconds since power-on, seconds idle: %s", strings.TrimSpace(string(uptime)))
	if os.Getpid() != 1 {
		t.Errorf("the test binary is process %d, want 1", os.Getpid())
	}
}

// TestGuestModules finds every module of the archive in the kernel.
func TestGuestModules(t *testing.T) {
	needGuest(t)
	list, err := os.ReadFile(modulesList)
	if err != nil {
		t.Fatal(err)
	}
	paths := strings.Fields(string(list))
	if len(paths) < 40 {
		t.Errorf("only %d modules in the guest", len(paths))
	}
	for _, path := range paths {
		name := strings.TrimSuffix(strings.TrimPrefix(path, guestDir+"/"), ".ko")
		if _, err := os.Stat("/sys/module/" + name); err != nil {
			t.Errorf("module %s is not loaded: %v", name, err)
		}
	}
}

// TestGuestLinks joins two namespaces by a bridge in the first and pings through it.
func TestGuestLinks(t *testing.T) {
	needGuest(t, "ip", "ping", "bridge")
	for _, line := range []string{
		"ip link add br0 type bridge",
		"ip addr add 10.9.0.1/24 dev br0",
		"ip link set br0 up",
		"ip netns add pod",
		"ip link add v0 type veth peer name eth0 netns pod",
		"ip link set v0 master br0 up",
		"ip -n pod addr add 10.9.0.2/24 dev eth0",
		"ip -n pod link set eth0 up",
		"ping -c 1 -W 10 10.9.0.2",
		"ip netns exec pod ping -c 1 -W 10 10.9.0.1",
		"ping -c 1 -W 10 127.0.0.1",
	} {
		run(t, line)
	}
	if out := run(t, "bridge link show"); !strings.Contains(out, "v0@") || !strings.Contains(out, "master br0") {
		t.Errorf("bridge link show prints\n%s", out)
	}
}

// TestGuestNft loads a bridge table from standard input and reads it back.
func TestGuestNft(t *testing.T) {
	needGuest(t, "nft")
	const rules = `table bridge guard {
	chain forward {
		type filter hook forward priority filter; policy accept;
		meta ibrname "br0" ct state established,related accept
		ether type arp limit rate 10/second counter drop
	}
}
table inet nat {
	chain post {
		type nat hook postrouting priority srcnat;
		ip saddr 10.9.0.0/24 fib daddr type != local masquerade
	}
}
`
	cmd := exec.Command("nft", "-f", "/dev/fd/0")
	cmd.Stdin = strings.NewReader(rules)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("nft -f /dev/fd/0: %v\n%s", err, out)
	}
	for table, want := range map[string]string{
		"bridge guard": "ct state established,related accept",
		"inet nat":     "fib daddr type != local masquerade",
	} {
		if out := run(t, "nft list table "+table); !strings.Contains(out, want) {
			t.Errorf("table %s lacks %q:\n%s", table, want, out)
		}
	}
}

// TestGuestIptables uses both forms of iptables, with plugins and kernel modules of each.
func TestGuestIptables(t *testing.T) {
	needGuest(t)
	for _, tool := range []string{"iptables-nft", "iptables-legacy", "iptables", "ip6tables-legacy"} {
		t.Run(tool, func(t *testing.T) {
			needGuest(t, tool)
			run(t, tool+" -t nat -A POSTROUTING -m addrtype ! --dst-type LOCAL -m comment --comment heddle -j MASQUERADE")
			run(t, tool+" -A FORWARD -p tcp -m conntrack --ctstate ESTABLISHED -m tcp --dport 80 -j ACCEPT")
			if out := run(t, tool+" -t nat -S POSTROUTING"); !strings.Contains(out, "MASQUERADE") {
				t.Errorf("the rule is not there:\n%s", out)
			}
		})
	}
}

func TestGuestTrafficControl(t *testing.T) {
	needGuest(t, "ip", "tc")
	run(t, "ip link add d0 type dummy")
	run(t, "tc qdisc add dev d0 root tbf rate 10mbit burst 16k latency 50ms")
	run(t, "tc qdisc add dev d0 clsact")
	run(t, "tc filter add dev d0 egress u32 match ip dst 10.0.0.0/8 action mirred ingress redirect dev d0")
	if out := run(t, "tc qdisc show dev d0"); !strings.Contains(out, "tbf") || !strings.Contains(out, "clsact") {
		t.Errorf("tc qdisc show prints\n%s", out)
	}
}
