package doctor_test

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/mode/bridge"
	"github.com/heddle-network/heddle/mode/direct"
	"github.com/heddle-network/heddle/mode/host"
	"github.com/heddle-network/heddle/mode/macvlan"
	"github.com/heddle-network/heddle/mode/overlay"
	"github.com/heddle-network/heddle/mode/routed"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
)

// mask takes a feature away from the agent, for the length of the test.
type mask struct {
	name string
	// hide is a script; unhide takes it back.
	hide, unhide string
	// module is taken away in a guest, which loads none on demand.
	module string
	// says is a word of the reason, by mode; advice one of the alternative.
	says, advice map[string]string
}

func both(bridge, routed string) map[string]string {
	return map[string]string{"bridge": bridge, "routed": routed}
}

// What is left when nothing can be wired or guarded, and when only the pair cannot be
// had: macvlan needs the firewall for the host's own device on the LAN.
const onlyHost, macvlanWorks = "only mode host works here", "mode macvlan works here"

// masks that need no guest.
var masks = []mask{
	{name: "nft not in PATH", hide: "mount --bind /dev/null NFTPROG", unhide: "umount NFTPROG", says: both("nft", "nft"), advice: both(onlyHost, onlyHost)},
	{name: "settings read-only", hide: "mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys", unhide: "umount /proc/sys",
		says:   map[string]string{"bridge": "read-only file system", "routed": "read-only file system", "macvlan": "read-only file system"},
		advice: map[string]string{"bridge": onlyHost, "routed": onlyHost, "macvlan": onlyHost}},
}

// guestMasks are modules, and what the whole machine would feel.
var guestMasks = []mask{
	{name: "no bridge", module: "bridge", says: both("bridge", ""), advice: both("mode macvlan works here", "")},
	{name: "no macvlan", module: "macvlan", says: map[string]string{"macvlan": "not supported"}, advice: map[string]string{"macvlan": "mode bridge works here"}},
	{name: "no vxlan", module: "vxlan", says: map[string]string{"overlay": "a vxlan device"}, advice: map[string]string{"overlay": "mode routed works here"}},
	{name: "no veth", module: "veth", says: both("link/hd", "link/hd"), advice: both(macvlanWorks, macvlanWorks)},
	{name: "no nf_tables", module: "nf_tables", says: both("firewall", "firewall"), advice: both(onlyHost, onlyHost)},
	{name: "no NAT chains", module: "nft_chain_nat", says: both("firewall", "firewall"), advice: both(onlyHost, onlyHost)},
	{name: "no NAT", module: "nft_nat", says: both("firewall", "firewall"), advice: both(onlyHost, onlyHost)},
	{name: "no masquerading", module: "nft_masq", says: both("firewall", "firewall"), advice: both(onlyHost, onlyHost)},
	{name: "no connection tracking in nft", module: "nft_ct", says: both("firewall", "firewall"), advice: both(onlyHost, onlyHost)},
	{name: "no fib in nft", module: "nft_fib", says: both("firewall", "firewall"), advice: both(onlyHost, onlyHost)},
	{name: "no more namespaces", hide: "sysctl -qw user.max_net_namespaces=0", unhide: "sysctl -qw user.max_net_namespaces=1000",
		says: both("no space left on device", "no space left on device"), advice: both(onlyHost, onlyHost)},
}

// maskAgent is an agent in this process with the masks' modes.
func maskAgent(t *testing.T) *agent.Agent {
	t.Helper()
	a, err := agent.New(agent.Options{StateDir: t.TempDir(), RunDir: t.TempDir(), Modes: []heddle.Mode{host.Mode{}, bridge.Mode{}, routed.Mode{}, macvlan.Mode{}, direct.Mode{}, overlay.Mode{}}})
	cell.Must(t, err)
	t.Cleanup(func() { a.Close() })
	<-a.Compared() // what an earlier one has left is gone
	return a
}

func network(mode string) heddle.Network {
	n := heddle.Network{Name: "masked", Mode: mode, Subnets: []netip.Prefix{netip.MustParsePrefix("10.60.0.0/24"), netip.MustParsePrefix("fd60::/64")}}
	if mode == "macvlan" {
		n.Parent, n.Gateways = "up0", []netip.Addr{netip.MustParseAddr("10.60.0.1"), netip.MustParseAddr("fd60::1")}
	}
	return n
}

// parent makes the interface that a macvlan network stands on.
func parent(t *testing.T) {
	t.Helper()
	cell.Sh(t, "ip link add up0 type veth peer name up1; ip link set up0 up; ip link set up1 up")
	t.Cleanup(func() { cell.TrySh("ip link del up0") })
}

// TestMasks takes features away one by one. The agent refuses the network with
// the kernel's reason and the best alternative, and leaves nothing; it accepts
// it when the feature is back.
func TestMasks(t *testing.T) {
	cell.Need(t)
	nft := cell.Sh(t, "readlink -f $(command -v nft)")
	for _, m := range masks {
		t.Run(m.name, func(t *testing.T) {
			words := strings.NewReplacer("NFTPROG", nft)
			m.try(t, func() func() {
				cell.Sh(t, "%s", words.Replace(m.hide))
				return func() { cell.Sh(t, "%s", words.Replace(m.unhide)) }
			})
		})
	}
}

// try refuses, and with the feature back accepts, a network of each mode.
func (m mask) try(t *testing.T, hide func() (unhide func())) {
	for mode, says := range m.says {
		if says == "" {
			continue
		}
		if mode == "macvlan" {
			parent(t)
		}
		a := maskAgent(t)
		before := owned(t)
		unhide := hide()
		_, _, err := a.CreateNetwork(network(mode), false)
		unhide()
		if heddle.KindOf(err) != heddle.Unavailable || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), m.advice[mode]) {
			t.Errorf("mode %s: %v\nwant exit code 4, %q and %q", mode, err, says, m.advice[mode])
		} else {
			t.Log(err)
		}
		if now := owned(t); now != before || len(a.Networks()) > 0 {
			t.Errorf("mode %s: left behind:\n%s\n%v", mode, now, a.Networks())
		}
		// a failure is not remembered
		if _, _, err := a.CreateNetwork(network(mode), false); err != nil {
			t.Errorf("mode %s, with the feature back: %v", mode, err)
			continue
		}
		cell.Must(t, a.DeleteNetwork("masked"))
		cell.Must(t, a.Close())
	}
}

// owned lists what bears our mark.
func owned(t *testing.T) string {
	t.Helper()
	k, err := kernel.Open()
	cell.Must(t, err)
	defer k.Close()
	o, err := k.Ours()
	cell.Must(t, err)
	return strings.Join(o.Keys(), "\n")
}

// TestMaskedRights takes capabilities away from a real agent. It either does not
// start, with the reason, or refuses the network.
func TestMaskedRights(t *testing.T) {
	cell.Need(t)
	if vm.InGuest() {
		t.Skip("needs the real programs")
	}
	for _, capability := range []string{"net_admin", "sys_admin"} {
		t.Run(capability, func(t *testing.T) {
			dir := t.TempDir()
			var log bytes.Buffer
			cmd := exec.Command("setpriv", "--bounding-set=-"+capability, cell.Build(t, "heddled"), "--resolver", "none", "--state-dir", filepath.Join(dir, "state"), "--run-dir", filepath.Join(dir, "run"))
			cmd.Stdout, cmd.Stderr = &log, &log
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			cell.Must(t, cmd.Start())
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			socket := filepath.Join(dir, "run", "heddle.sock")
			if err := waitSocket(socket, ended); err != nil {
				if want := "CAP_" + strings.ToUpper(capability); !strings.Contains(log.String(), want) {
					t.Errorf("it ends without naming %s: %v\n%s", want, err, &log)
				}
				return
			}
			_, _, err := client.New(socket).CreateNetwork(t.Context(), network("bridge"), false)
			if heddle.KindOf(err) != heddle.Unavailable || !strings.Contains(err.Error(), "CAP_"+strings.ToUpper(capability)) {
				t.Errorf("refused with %v", err)
			} else {
				t.Log(err)
			}
			cmd.Process.Kill()
			<-ended
			if left := owned(t); left != "" {
				t.Errorf("left behind:\n%s", left)
			}
		})
	}
}

// TestMaskedCommand refuses on the command line, with exit code 4.
func TestMaskedCommand(t *testing.T) {
	cell.Need(t)
	dir := t.TempDir()
	a := cell.Start(t, dir)
	nft := cell.Sh(t, "readlink -f $(command -v nft)")
	cell.Sh(t, "mount --bind /dev/null %s", nft)
	s := &scene{dir: dir}
	cmd := s.command(t, "network", "create", "n", "--mode", "bridge", "--subnet", "10.61.0.0/24")
	out, _ := cmd.CombinedOutput()
	cell.Sh(t, "umount %s", nft)
	if cmd.ProcessState.ExitCode() != int(heddle.Unavailable) || !strings.Contains(string(out), "nft") || !strings.Contains(string(out), onlyHost) || !strings.Contains(string(out), "HDL-3003") {
		t.Errorf("exit code %d\n%s", cmd.ProcessState.ExitCode(), out)
	}
	t.Logf("%s", out)
	a.AuditEmpty(t)
}

// waitSocket waits until the agent listens, or has ended.
func waitSocket(socket string, ended <-chan error) error {
	_, err := poll.Until(2*time.Minute, 20*time.Millisecond, func() error {
		select {
		case err := <-ended:
			return poll.Final(fmt.Errorf("it ended: %w", err))
		default:
		}
		c, err := net.Dial("unix", socket)
		if err != nil {
			return fmt.Errorf("it does not listen: %w", err)
		}
		return c.Close()
	})
	return err
}

// TestGuestMasks takes modules away, which only a guest's kernel lets happen.
func TestGuestMasks(t *testing.T) {
	if !vm.InGuest() {
		t.Skip("TestInGuests runs it")
	}
	for _, m := range guestMasks {
		t.Run(m.name, func(t *testing.T) {
			m.try(t, func() func() {
				if m.module != "" {
					return vm.Unload(t, m.module)
				}
				cell.Sh(t, "%s", m.hide)
				return func() { cell.Sh(t, "%s", m.unhide) }
			})
		})
	}
}

// TestGuestWithoutIPv6 runs on a kernel that was started without IPv6: both
// families together are refused, and IPv4 alone works to the end.
func TestGuestWithoutIPv6(t *testing.T) {
	if _, err := os.Stat("/proc/sys/net/ipv6/conf"); !vm.InGuest() || err == nil {
		t.Skip("TestInGuestsWithoutIPv6 runs it")
	}
	modes := []string{"bridge", "routed", "overlay"}
	if !soak.On() {
		modes = modes[:1]
	}
	for _, mode := range modes {
		a := maskAgent(t)
		_, _, err := a.CreateNetwork(network(mode), false)
		if heddle.KindOf(err) != heddle.Unavailable || !strings.Contains(err.Error(), "with IPv4 alone it works here") && !strings.Contains(err.Error(), "ipv6") {
			t.Errorf("mode %s: %v", mode, err)
		}
		t.Log(err)
		four := network(mode)
		four.Subnets = four.Subnets[:1]
		_, _, err = a.CreateNetwork(four, false)
		cell.Must(t, err)
		cell.Netns(t, "pod-"+mode)
		id := heddle.EndpointID{Container: mode, IfName: "eth0"}
		_, err = a.Attach(t.Context(), heddle.AttachRequest{Network: "masked", ID: id, Netns: "/run/netns/pod-" + mode})
		cell.Must(t, err)
		found, err := a.Audit()
		cell.Must(t, err)
		if len(found) > 0 {
			t.Errorf("audit: %+v", found)
		}
		_, err = a.Detach(t.Context(), id)
		cell.Must(t, err)
		cell.Must(t, a.DeleteNetwork("masked"))
		cell.Must(t, a.Close())
	}
	if left := owned(t); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
}

// TestInGuests runs the masks under Debian's kernels. In make test, these are the modes' own modules.
func TestInGuests(t *testing.T) {
	soak.Turn(t, 0)
	small := "^TestGuestMasks$/^no_(bridge|macvlan|vxlan|nf_tables)$|^TestGuestFlowLog$/^nft_log$"
	vm.Guest{Small: map[string]string{"6.12": small}}.RunEverywhere(t, "^TestGuest(Masks|FlowLog)$")
}

// TestInGuestsWithoutIPv6 starts the kernels with ipv6.disable=1.
func TestInGuestsWithoutIPv6(t *testing.T) {
	soak.Turn(t, 1)
	vm.RunInGuest(t, "6.1", "^TestGuestWithoutIPv6$", "ipv6.disable=1")
}
