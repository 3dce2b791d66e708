package doctor_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
)

// fault is one thing wrong with the host.
type fault struct {
	// id is the check that must find it; others may too.
	id     string
	others string
	// says are in the evidence.
	says []string
	// plant and repair are scripts; without a repair, --fix must do it. Words in
	// capitals stand for the scene's own; see sh.
	plant, repair string
	// after tidies up what the fix rightly leaves.
	after string
	// passing says that the agent repairs it by itself after a while.
	passing bool
	// down plants it while no agent runs.
	down bool
	// during plants what no script can; it returns the repair.
	during func(*testing.T) func()
}

const agentless = "agent-up socket-file"

var faults = []fault{
	{id: "nft-program", others: "nft-inet nft-nat nft-bridge nft-log mode-bridge mode-routed mode-macvlan", plant: "mount --bind /dev/null NFTPROG", repair: "umount NFTPROG"},
	{id: "ip-program", plant: "mount --bind /dev/null IPPROG", repair: "umount IPPROG"},
	{id: "ip-forward", others: agentless, down: true, plant: "sysctl -qw net.ipv4.ip_forward=0"},
	{id: "ip6-forward", others: agentless, down: true, plant: "sysctl -qw net.ipv6.conf.all.forwarding=0"},
	{id: "setting-files", plant: "echo 'net.ipv4.ip_forward = 0' >/etc/sysctl.d/90-hardening.conf", repair: "rm /etc/sysctl.d/90-hardening.conf"},
	{id: "disable-ipv6", others: "audit drift agent-parts", plant: "sysctl -qw net.ipv6.conf.all.disable_ipv6=1", after: "ip -6 address replace 2001:db8::10/64 dev lan0 nodad; ip -6 route replace default via 2001:db8::1"},
	{id: "rp-filter", plant: "sysctl -qw net.ipv4.conf.lan1.rp_filter=1"},
	{id: "route-localnet", plant: "sysctl -qw net.ipv4.conf.all.route_localnet=1"},
	{id: "accept-ra", plant: "sysctl -qw net.ipv6.conf.lan0.accept_ra=1; ip -6 route add default via fe80::99 dev lan0 proto ra metric 2048", repair: "ip -6 route del default via fe80::99 dev lan0"},
	{id: "arp-ignore", plant: "sysctl -qw net.ipv4.conf.all.arp_ignore=8"},
	{id: "port-range", plant: "sysctl -qw net.ipv4.ip_local_port_range='8000 60999'", after: "sysctl -qw net.ipv4.ip_local_port_range='32768 60999' net.ipv4.ip_local_reserved_ports=''"},
	{id: "masquerade-ports", plant: "sysctl -qw net.ipv4.ip_local_port_range='32768 65000'", after: "sysctl -qw net.ipv4.ip_local_port_range='32768 60999' net.ipv4.ip_local_reserved_ports=''"},
	{id: "port-taken", during: func(t *testing.T) func() {
		l, err := net.Listen("tcp", ":8080")
		cell.Must(t, err)
		return func() { l.Close() }
	}},
	{id: "mtu-parent", plant: "ip link set lan1 mtu 1400", repair: "ip link set lan1 mtu 1500"},
	{id: "mtu-bridge", others: agentless, down: true, plant: "port=$(ip -o link show type veth master $(ip -o link show type bridge | sed -n 's/.*\\(hb[0-9a-f]\\{10\\}\\):.*/\\1/p') | sed -n 's/.*\\(hd[0-9a-f]\\{10\\}\\)@.*/\\1/p' | head -1); ip link set $port mtu 1300"},
	{id: "networkd-routes", during: networkd("")},
	{id: "networkd-links", others: "networkd-routes", during: networkd("[Match]\nName=h*\n\n[Network]\nLinkLocalAddressing=no\n")},
	{id: "networkmanager", during: func(t *testing.T) func() { return standIn(t, "NetworkManager") }},
	{id: "dhcpcd", during: func(t *testing.T) func() { return standIn(t, "dhcpcd") }},
	{id: "ifupdown", plant: "mkdir -p /etc/network/interfaces.d; echo 'allow-hotplug hd0123456789' >/etc/network/interfaces.d/all", repair: "rm /etc/network/interfaces.d/all"},
	{id: "forward-drop", others: agentless, down: true, plant: "nft 'add table ip filter; add chain ip filter FORWARD { type filter hook forward priority 0; policy drop; }'", after: "nft delete table ip filter"},
	{id: "forward-drop", others: agentless, down: true, plant: "iptables-legacy -P FORWARD DROP", after: "iptables-legacy -P FORWARD ACCEPT; iptables-legacy -F FORWARD"},
	{id: "forward-before", plant: "nft 'add table ip filter; add chain ip filter FORWARD { type filter hook forward priority 0; policy drop; }'; until nft list chain ip filter FORWARD | grep -q 'oifname \"hd'; do sleep 0.05; done; nft insert rule ip filter FORWARD ip saddr 10.20.0.0/24 drop", repair: "nft delete table ip filter"},
	{id: "prerouting-drop", others: "names-answered", plant: "nft 'add table inet strict; add chain inet strict early { type filter hook prerouting priority -400; }; add rule inet strict early ip daddr 10.30.0.0/16 drop'", repair: "nft delete table inet strict"},
	{id: "input-drop", plant: "nft 'add table inet strict; add chain inet strict in { type filter hook input priority 0; policy drop; }; add rule inet strict in iifname lo accept'", repair: "nft delete table inet strict"},
	{id: "port-forward", plant: "nft 'add table ip mine; add chain ip mine pre { type nat hook prerouting priority -100; }; add rule ip mine pre tcp dport 8080 dnat to 192.0.2.99:80'", repair: "nft delete table ip mine"},
	{id: "masquerade-all", plant: "nft 'add table ip mine; add chain ip mine post { type nat hook postrouting priority 100; }; add rule ip mine post masquerade'", repair: "nft delete table ip mine"},
	{id: "notrack", plant: "nft 'add table ip fast; add chain ip fast pre { type filter hook prerouting priority -300; }; add rule ip fast pre ip saddr 10.20.0.0/24 notrack'", repair: "nft delete table ip fast"},
	{id: "bridge-drop", plant: "nft 'add table bridge l2; add chain bridge l2 fw { type filter hook forward priority 0; policy drop; }'", repair: "nft delete table bridge l2"},
	{id: "two-iptables", plant: "iptables-legacy -A INPUT -s 203.0.113.7 -j ACCEPT; nft 'add table ip filter; add chain ip filter INPUT { type filter hook input priority 0; }; add rule ip filter INPUT ip saddr 203.0.113.8 accept'", repair: "nft delete table ip filter; iptables-legacy -F INPUT"},
	{id: "legacy-program", plant: "iptables-legacy -A INPUT -s 203.0.113.7 -j ACCEPT; mount --bind /dev/null LEGACYPROG", repair: "umount LEGACYPROG; iptables-legacy -F INPUT"},
	{id: "subnet-address", others: "subnet-route", plant: "ip address add 10.20.0.77/25 dev lan0", repair: "ip address del 10.20.0.77/25 dev lan0"},
	{id: "subnet-route", plant: "ip route add 10.30.0.128/25 via 192.0.2.1", repair: "ip route del 10.30.0.128/25"},
	{id: "subnet-behind", plant: "ip route add 10.0.0.0/8 via 192.0.2.1", repair: "ip route del 10.0.0.0/8"},
	{id: "subnet-dns", others: "names-upstreams", plant: "echo nameserver 10.20.0.53 >>/etc/resolv.conf", repair: "sed -i /10.20.0.53/d /etc/resolv.conf"},
	{id: "subnet-docker", plant: `mkdir -p /etc/docker; echo '{"default-address-pools":[{"base":"10.16.0.0/12","size":24}]}' >/etc/docker/daemon.json`, repair: "rm /etc/docker/daemon.json"},
	{id: "subnet-cni", plant: `echo '{"cniVersion":"1.0.0","name":"old","type":"bridge","ipam":{"type":"host-local","subnet":"10.20.0.0/16"}}' >/etc/cni/net.d/99-old.conf`, repair: "rm /etc/cni/net.d/99-old.conf"},
	{id: "pool-fill", plant: "HEDDLE network create tiny --mode bridge --subnet 10.99.0.0/30; ip netns add tiny; HEDDLE attach tiny --netns tiny", repair: "HEDDLE detach tiny; ip netns del tiny; HEDDLE network delete tiny"},
	{id: "rule-band", plant: "ip rule add priority 26700 from 203.0.113.0/24 lookup main", repair: "ip rule del priority 26700"},
	{id: "audit", plant: "ip link add hbdeadbeef00 type bridge; ip link set hbdeadbeef00 alias 'heddle network=gone id=0000000000000000'"},
	{id: "orphans", others: agentless, down: true, plant: "mv STATE STATE.away; mkdir STATE", repair: "rmdir STATE; mv STATE.away STATE"},
	{id: "link-names", plant: "ip link add hb0123456789 type bridge", repair: "ip link del hb0123456789"},
	{id: "netns-files", plant: "touch -d '5 minutes ago' /run/netns/stale"},
	{id: "gone-containers", passing: true, plant: "ip netns add dead; HEDDLE attach front --netns dead; ip netns del dead"},
	{id: "labs", plant: `mkdir -p /run/heddle-lab/old; echo '{"name":"old","boot":"-","ready":true,"created":"2024-01-01T00:00:00Z"}' >/run/heddle-lab/old/lab.json`, repair: "HEDDLE lab down old"},
	{id: "socket-file", others: "agent-up", down: true},
	{id: "agent-up", others: "socket-file", down: true},
	{id: "socket-rights", plant: "chmod 0666 RUN/heddle.sock"},
	{id: "folder-rights", plant: "chmod 0777 RUN"},
	{id: "ledger-rights", plant: "chmod 0644 STATE/heddle.db"},
	{id: "ledger-sound", others: agentless, down: true, plant: "cp -a STATE/heddle.db STATE/kept; head -c 9000 /dev/zero >STATE/heddle.db", repair: "mv STATE/kept STATE/heddle.db"},
	{id: "disk-room", others: "state-lasting", plant: "mount -t tmpfs -o mode=755,size=8m small STATE", repair: "umount -l STATE"},
	{id: "disk-writable", plant: "mount --bind STATE STATE; mount -o remount,bind,ro STATE", repair: "umount -l STATE"},
	{id: "run-volatile", others: "agent-up", plant: "mkdir STATE/run; mount --bind STATE/run RUN", repair: "umount -R -l RUN; rm -r STATE/run"},
	{id: "state-lasting", plant: "mount -t tmpfs -o mode=755 state STATE", repair: "umount -l STATE"},
	{id: "clock", plant: "touch -d tomorrow STATE/heddle.db", repair: "touch STATE/heddle.db"},
	{id: "agent-alone", during: func(t *testing.T) func() { return standIn(t, "heddled") }},
	{id: "agent-parts", plant: "mv STATE STATE.away", repair: "mv STATE.away STATE"},
	{id: "agent-late", others: "agent-parts audit drift", plant: slowNft, repair: "rm RUN/nft.stuck; umount -l NFTPROG"},
	{id: "agent-files", plant: "prlimit --pid PID --nofile=300:20000", repair: "prlimit --pid PID --nofile=20000:20000"},
	{id: "agent-settings", others: "mode-bridge mode-routed mode-macvlan mode-direct", plant: "mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys", repair: "umount /proc/sys"},
	{id: "drift", plant: "ip -n web link set eth0 mtu 1400", repair: "ip -n web link set eth0 mtu 1500"},
	{id: "cni-config", plant: `echo '{"name":"x","plugins":[{"type":"heddle-cni"}' >/etc/cni/net.d/10-heddle.conflist`, repair: "rm /etc/cni/net.d/10-heddle.conflist"},
	{id: "cni-plugins", plant: conflist(`"network":"front"`), repair: "touch PLUGINS/heddle-cni; chmod +x PLUGINS/heddle-cni", after: "rm /etc/cni/net.d/10-heddle.conflist PLUGINS/heddle-cni"},
	{id: "cni-network", plant: "touch PLUGINS/heddle-cni; chmod +x PLUGINS/heddle-cni; " + conflist(`"network":"nowhere"`), repair: "rm /etc/cni/net.d/10-heddle.conflist PLUGINS/heddle-cni"},
	{id: "cni-socket", plant: "touch PLUGINS/heddle-cni; chmod +x PLUGINS/heddle-cni; " + conflist(`"network":"front","socket":"/run/other.sock"`), repair: "rm /etc/cni/net.d/10-heddle.conflist PLUGINS/heddle-cni"},
	{id: "cni-queue", plant: "mkdir -p STATE/cni-queue; touch -d '5 minutes ago' STATE/cni-queue/ghost@eth0"},
	{id: "podman-network", says: []string{`network "again", heddle.id "0000000000000000"`}, plant: `mkdir -p /etc/containers/networks; echo '{"name":"again","driver":"heddle","subnets":[{"subnet":"10.96.0.0/24","gateway":"10.96.0.1"}],"options":{"mode":"bridge","heddle.id":"0000000000000000"}}' >/etc/containers/networks/again.json`,
		repair: "HEDDLE network create again --mode bridge --subnet 10.96.0.0/24 --gateway 10.96.0.1", after: "rm -r /etc/containers/networks; HEDDLE network delete again"},
	{id: "docker-driver", during: func(t *testing.T) func() { return standIn(t, "dockerd") }, plant: "mv /run/docker/plugins/heddle.sock RUN/docker.away", repair: "mv RUN/docker.away /run/docker/plugins/heddle.sock"},
	{id: "names-resolver", others: agentless, down: true, plant: "read -r pid version <RUN/names/lock; kill $pid; while [ -s RUN/names/lock ]; do sleep 0.05; done", repair: ":"},
	{id: "names-answered", plant: "read -r pid version <RUN/names/lock; kill -STOP $pid", repair: "read -r pid version <RUN/names/lock; kill -CONT $pid"},
	{id: "names-port", others: "names-answered", during: takesPort, plant: "HEDDLE network create taken --mode bridge --subnet 10.98.0.0/24", repair: "HEDDLE network delete taken"},
	{id: "names-upstreams", plant: "echo nameserver 192.0.2.99 >>/etc/resolv.conf", repair: "sed -i /192.0.2.99/d /etc/resolv.conf"},
	{id: "names-clash", plant: "ip netns add one; ip netns add two; HEDDLE attach front --netns one --name twin; HEDDLE attach front --netns two --name twin",
		repair: "HEDDLE detach one; HEDDLE detach two; ip netns del one; ip netns del two"},
	{id: "names-refused", says: []string{"shy (shut): ", " for outside names, and no network of it has a way out"},
		plant:  "HEDDLE network create shut --mode bridge --internal --subnet 10.97.0.0/24; ip netns add shut; HEDDLE attach shut --netns shut --name shy; " + asksOutside,
		repair: "HEDDLE detach shut; ip netns del shut; HEDDLE network delete shut"},
	{id: "names-limited", says: []string{"many (front): 1 connection beyond those that it may have"}, plant: "ip netns add many; HEDDLE attach front --netns many; " + connectsOften, repair: "HEDDLE detach many; ip netns del many"},
	{id: "route-protocol", plant: "mkdir -p /etc/iproute2; echo '104 other' >>/etc/iproute2/rt_protos", repair: "sed -i '/^104 other/d' /etc/iproute2/rt_protos"},
}

// asksOutside asks for the addresses of example.org until there is an answer, as another test's flood may lose a packet.
// connectsOften makes 17 connections to the resolver, of which it ends one: the rest stays until then.
const (
	asksOutside = `ip netns exec shut bash -c 'exec 3<>/dev/udp/10.97.0.1/53; for i in $(seq 5); do printf "hd\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03org\x00\x00\x01\x00\x01" >&3; read -r -t 2 -N 1 -u 3 && exit; done; exit 1'`

	connectsOften = `ip netns exec many bash -c 'for i in $(seq 17); do exec {fd}<>/dev/tcp/10.20.0.1/53; done; read -t 5 -u $fd || true'`
)

// slowNft has the agent wait for nft, which does not come to an end while a file is
// there, and gives it something to repair. All others find the program as it was.
const slowNft = `cp NFTPROG RUN/nft.real; touch RUN/nft.stuck
cat >RUN/nft.slow <<'EOF'
#!/bin/sh
case "$(readlink /proc/$(cut -d' ' -f4 /proc/$$/stat)/exe)" in */heddled) while [ -e RUN/nft.stuck ]; do sleep 0.1; done;; esac
exec RUN/nft.real "$@"
EOF
chmod +x RUN/nft.slow; mount --bind RUN/nft.slow NFTPROG
RUN/nft.real flush chain inet heddle guard-tunnel`

func conflist(keys string) string {
	return fmt.Sprintf(`echo '{"cniVersion":"1.0.0","name":"n","plugins":[{"type":"heddle-cni",%s}]}' >/etc/cni/net.d/10-heddle.conflist`, keys)
}

// takesPort listens at a gateway before there is its network.
func takesPort(t *testing.T) func() {
	free := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		failed := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_FREEBIND, 1) })
		return errors.Join(failed, err)
	}}
	l, err := free.Listen(t.Context(), "tcp4", "10.98.0.1:53")
	cell.Must(t, err)
	return func() { l.Close() }
}

// TestFaults plants the faults one by one. Each is silent before, found by its
// check and no others while it is there, and silent after its repair.
func TestFaults(t *testing.T) {
	s := newScene(t)
	s.quiet(t)
	kinds := map[string]bool{}
	tried := tries{}
	for i, f := range faults {
		kinds[f.id] = true
		t.Run(f.id, func(t *testing.T) {
			soak.Turn(t, i%soak.Turns)
			f.play(t, s, tried.among(t, f)...)
		})
	}
	if len(kinds) < 25 {
		t.Errorf("%d kinds of faults only", len(kinds))
	}
	s.quiet(t)
	s.agent.AuditEmpty(t)
	if t.Failed() {
		log, _ := os.ReadFile(s.agent.Log)
		t.Logf("the agent's log:\n%s", log)
	}
}

// quiet says that a clean host gives neither warning nor failure, once what was
// under way has ended.
func (s *scene) quiet(t *testing.T) {
	t.Helper()
	for id, x := range s.visit(t).loud() {
		t.Logf("for a moment: %s: %q", id, x.Evidence)
		s.until(t, id, false)
	}
	v := s.visit(t)
	for id, f := range v.loud() {
		t.Errorf("false alarm: %s is %s: %q", id, f.State, f.Evidence)
	}
	if v.code != 0 {
		t.Errorf("exit code %d on a clean host", v.code)
	}
	t.Logf("%d checks in %.2f s", len(v.Items), v.Seconds)
}

// play makes one visit to the fault, by these checks; none means all.
func (f fault) play(t *testing.T, s *scene, checks ...string) {
	s.until(t, f.id, false)
	repair := f.begin(t, s)
	defer repair()
	found := s.until(t, f.id, true)
	if len(found.Evidence) == 0 || len(found.Remedy) == 0 {
		t.Errorf("without evidence or remedy: %+v", found)
	}
	for _, words := range f.says {
		if !strings.Contains(strings.Join(found.Evidence, "\n"), words) {
			t.Errorf("the evidence is %q, without %q", found.Evidence, words)
		}
	}
	var only []string
	if len(checks) > 0 {
		only = []string{"--only", strings.Join(checks, ",")}
	}
	v := s.visit(t, only...)
	fails := false
	for id, x := range v.loud() {
		fails = fails || x.State == "fail"
		if id != f.id && !slices.Contains(strings.Fields(f.others), id) {
			t.Logf("for a moment: %s: %q", id, x.Evidence)
			s.until(t, id, false) // only what stays is a false alarm
		}
	}
	if fails != (v.code == 1) {
		t.Errorf("exit code %d, a check failed: %v", v.code, fails)
	}
	repair()
	for _, id := range append(strings.Fields(f.others), f.id) {
		s.until(t, id, false)
	}
}

// begin plants the fault and returns how it is repaired.
func (f fault) begin(t *testing.T, s *scene) (repair func()) {
	if f.down {
		s.agent.Kill()
	}
	end := func() {}
	if f.during != nil {
		end = f.during(t)
	}
	if f.plant != "" {
		s.sh(t, f.plant)
	}
	repaired := false
	return func() {
		if repaired {
			return
		}
		repaired = true
		if f.repair != "" {
			s.sh(t, f.repair)
		} else if f.plant != "" {
			f.fix(t, s)
		}
		end()
		if f.down {
			s.start()
		}
		if f.after != "" {
			s.sh(t, f.after)
		}
	}
}

// fix calls for the doctor's own repair.
func (f fault) fix(t *testing.T, s *scene) {
	t.Helper()
	done := s.visit(t, "--fix", "--only", f.id).Items[0]
	if len(done.Fixed) == 0 && !(f.passing && !done.Loud()) {
		t.Errorf("--fix did nothing; %s is %s: %q", f.id, done.State, done.Evidence)
	}
	if done.Loud() {
		t.Logf("--fix did %q", done.Fixed)
		s.until(t, f.id, false)
	}
}

func (s *scene) sh(t *testing.T, script string) {
	t.Helper()
	heddle := "HEDDLE_SOCKET=" + s.run() + "/heddle.sock " + cell.Build(t, "heddle")
	script = strings.NewReplacer("STATE", s.state(), "RUN", s.run(), "PID", s.pid(), "PLUGINS", s.bin, "HEDDLE", heddle,
		"NFTPROG", s.tools["nft"], "IPPROG", s.tools["ip"], "LEGACYPROG", s.tools["iptables-legacy"]).Replace(script)
	if out, err := cell.TrySh("%s", script); err != nil {
		t.Fatalf("%s\n%v\n%s", script, err, out)
	}
}

// pid is the agent's, "" for one that a test has started by itself.
func (s *scene) pid() string {
	if s.agent == nil {
		return ""
	}
	return fmt.Sprint(s.agent.Pid())
}

// networkd runs the real systemd-networkd, with a file of the given text.
func networkd(network string) func(*testing.T) func() {
	return func(t *testing.T) func() {
		cell.Sh(t, "mkdir -p /etc/systemd/network /run/systemd/network /run/systemd/netif/links; rm -f /etc/systemd/network/*")
		if network != "" {
			cell.Sh(t, "cat >/etc/systemd/network/50-all.network <<'EOF'\n%s\nEOF", network)
		}
		end := program(t, "/lib/systemd/systemd-networkd")
		return func() {
			end()
			cell.Sh(t, "rm -f /etc/systemd/network/*")
		}
	}
}
