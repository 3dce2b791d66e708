// Package doctor_test plants faults on a host with a real agent, one by one, and
// looks whether the doctor finds each by the right check; and it takes features
// of the kernel away, and looks how the agent refuses.
package doctor_test

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle/doctor"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/forge"
	"github.com/heddle-network/heddle/test/poll"
)

func TestMain(m *testing.M) {
	forge.Dispatch(os.Args[1:])
	os.Exit(cell.Main(m))
}

// scene is a host: an uplink, a second NIC, an /etc of its own, an agent with a
// network in each mode and endpoints.
type scene struct {
	// t is the whole test: the agent outlives a fault.
	t     *testing.T
	dir   string
	agent *cell.Agent
	// bin holds the CNI plugin.
	bin string
	// tools are the files of programs, links resolved.
	tools map[string]string
}

func (s *scene) state() string { return filepath.Join(s.dir, "state") }
func (s *scene) run() string   { return filepath.Join(s.dir, "run") }

// newScene furnishes the host; it is the same for all faults.
func newScene(t *testing.T) *scene {
	t.Helper()
	cell.Need(t)
	s := &scene{t: t, dir: t.TempDir(), bin: t.TempDir(), tools: map[string]string{}}
	for _, name := range []string{"nft", "ip", "iptables-legacy"} {
		s.tools[name] = cell.Sh(t, "readlink -f $(command -v %s)", name)
	}
	cell.Sh(t, `umask 022; mkdir -p /run/own-etc && cp -a /etc/. /run/own-etc/ && mount --bind /run/own-etc /etc
rm -rf /etc/cni/net.d /etc/docker/daemon.json /etc/sysctl.d /etc/sysctl.conf
mkdir -p /etc/sysctl.d /etc/cni/net.d %s %s
echo nameserver %s >/etc/resolv.conf
mount -t tmpfs -o mode=755 run %s`, s.state(), s.run(), nameServer, s.run())
	t.Cleanup(func() { cell.TrySh("umount -l %s; umount -l /etc", s.run()) })
	cell.Sh(t, `sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.ip_local_port_range='32768 60999'
ip link set lo up
for nic in lan0 lan1 nic0; do
	ip link add $nic type veth peer name w$nic
	ip link set w$nic up; ip link set $nic up
done
ip address add 192.0.2.10/24 dev lan0; ip -6 address add 2001:db8::10/64 dev lan0 nodad
ip address add 198.51.100.10/24 dev lan1
ip route add default via 192.0.2.1; ip -6 route add default via 2001:db8::1`)
	t.Cleanup(func() { cell.TrySh("ip link del wlan0; ip link del wlan1; ip link del wnic0") })
	serveNames(t)
	s.start()
	for _, line := range []string{
		"network create front --mode bridge --subnet 10.20.0.0/24 --subnet fd20::/64",
		"network create back --mode routed --subnet 10.30.0.0/24 --subnet fd30::/64",
		"network create side --mode routed --subnet 10.40.0.0/24 --parent lan1 --opt table=auto --opt next-hop=198.51.100.1",
		"network create lan --mode macvlan --parent lan0 --subnet 192.0.2.0/24 --subnet 2001:db8::/64 --ip-range 192.0.2.128/25",
		"network create whole --mode direct --parent nic0 --subnet 203.0.113.0/24 --gateway 203.0.113.1",
	} {
		s.heddle(t, line)
	}
	for name, network := range map[string]string{"web": "front --publish 8080:80", "api": "back", "cam": "side", "box": "lan", "dpu": "whole"} {
		cell.Netns(t, name)
		s.heddle(t, "attach "+network+" --netns "+name)
	}
	return s
}

func (s *scene) start() {
	a, err := cell.TryStartWith(s.t, s.dir, []string{"--resolver", "gateway"})
	cell.Must(s.t, err)
	s.agent = a
}

// nameServer is where the host's name server answers.
const nameServer = "127.0.0.9"

// serveNames refuses all questions for names.
func serveNames(t *testing.T) {
	t.Helper()
	c, err := net.ListenPacket("udp", nameServer+":53")
	cell.Must(t, err)
	s := &dns.Server{PacketConn: c, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) { w.WriteMsg(new(dns.Msg).SetRcode(q, dns.RcodeRefused)) })}
	go s.ActivateAndServe()
	t.Cleanup(func() { s.Shutdown() })
}

// heddle runs the command line and fails the test if it fails.
func (s *scene) heddle(t *testing.T, line string) string {
	t.Helper()
	out, err := s.command(t, strings.Fields(line)...).CombinedOutput()
	if err != nil {
		t.Fatalf("heddle %s: %v\n%s", line, err, out)
	}
	return string(out)
}

func (s *scene) command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.Command(cell.Build(t, "heddle"), args...)
	cmd.Env = append(os.Environ(), "HEDDLE_SOCKET="+filepath.Join(s.run(), "heddle.sock"))
	return cmd
}

// visit is what the doctor says, by check.
type visit struct {
	Items   []doctor.Finding
	Seconds float64
	code    int
}

// visit calls the doctor.
func (s *scene) visit(t *testing.T, args ...string) visit {
	t.Helper()
	args = append([]string{"doctor", "-o", "json", "--state-dir", s.state(), "--cni-bin", s.bin}, args...)
	cmd := s.command(t, args...)
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	err := cmd.Run()
	v := visit{code: cmd.ProcessState.ExitCode()}
	if jsonErr := json.Unmarshal(out.Bytes(), &v); jsonErr != nil {
		t.Fatalf("heddle %s: %v, %v\n%s%s", strings.Join(args, " "), err, jsonErr, out.String(), words.String())
	}
	return v
}

// loud are the checks that warn or fail.
func (v visit) loud() map[string]doctor.Finding {
	some := map[string]doctor.Finding{}
	for _, f := range v.Items {
		if f.Loud() {
			some[f.ID] = f
		}
	}
	return some
}

// until repeats one check until it has found something, or nothing.
func (s *scene) until(t *testing.T, id string, found bool) doctor.Finding {
	t.Helper()
	var f doctor.Finding
	_, err := poll.Until(2*time.Minute, 100*time.Millisecond, poll.True(func() bool {
		f = s.visit(t, "--only", id).Items[0]
		return (f.Loud() || f.State == f.Severity) == found
	}))
	if err != nil {
		t.Fatalf("%s is %s, found should be %v: %q", id, f.State, found, f.Evidence)
	}
	return f
}

// program runs until the test ends, or the function is called.
func program(t *testing.T, argv ...string) (end func()) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			cmd.Process.Kill()
			cmd.Wait()
		}
	}
	t.Cleanup(end)
	return end
}

// standIn runs as a program that is not installed here, under its name: the
// doctor goes by the name and the network namespace.
func standIn(t *testing.T, name string) (end func()) {
	t.Helper()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	cell.Sh(t, "cp %s %s", sleep, path)
	return program(t, path, "600")
}
