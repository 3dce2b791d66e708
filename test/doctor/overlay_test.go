package doctor_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/forge"
	"github.com/heddle-network/heddle/test/poll"
)

// TestOverlayFaults plants what is wrong with a host of a cluster.
func TestOverlayFaults(t *testing.T) {
	s := newMember(t)
	s.quiet(t)
	for _, f := range []fault{
		{id: "tunnel-port", during: func(t *testing.T) func() {
			c, err := net.ListenPacket("udp", ":4789")
			cell.Must(t, err)
			return func() { c.Close() }
		}},
		{id: "tunnel-port", plant: "ip link add other type vxlan id 7 dstport 4789 local 192.0.2.10 nolearning", repair: "ip link del other"},
		{id: "underlay-address", plant: "ip address del 2001:db8::10/64 dev lan0; ip address add 2001:db8::11/64 dev lan0 nodad", others: "agent-parts",
			repair: "ip address del 2001:db8::11/64 dev lan0; ip address add 2001:db8::10/64 dev lan0 nodad"}, // the store has the other one
		{id: "underlay-mtu", plant: "ip link set lan0 mtu 1300", repair: "ip link set lan0 mtu 1500"},
		{id: "underlay-input", plant: "nft 'add table inet strict; add chain inet strict in { type filter hook input priority 0; policy drop; }; add rule inet strict in iifname lo accept; add rule inet strict in tcp dport 9478-9480 accept'", repair: "nft delete table inet strict"},
		{id: "underlay-input", plant: "nft 'add table inet strict; add chain inet strict in { type filter hook input priority 0; }; add rule inet strict in udp dport 4789 drop'", repair: "nft delete table inet strict"},
		{id: "cluster-clock", during: s.certificate(time.Hour, 1000*time.Hour)},
		{id: "cluster-certificate", during: s.certificate(-1000*time.Hour, 48*time.Hour)},
		{id: "cluster-records", during: func(t *testing.T) func() {
			forger := forge.In(t, filepath.Join(s.state(), "cluster"))
			cell.Must(t, forger.Write(forge.Text("/heddle/networks/evil", `{"id":"00000000000000e1","name":"evil","mode":"overlay","subnets":["8.8.8.0/24"],"gateways":["8.8.8.1"],"shared":true}`)))
			return func() { s.heddle(t, "network delete evil") } // as the check says
		}},
		{id: "store-reach", plant: "cp STATE/cluster/endpoints STATE/kept; echo https://127.0.0.1:1 >>STATE/cluster/endpoints", repair: "mv STATE/kept STATE/cluster/endpoints"},
	} {
		t.Run(f.id, func(t *testing.T) { f.play(t, s) })
	}
	s.heddle(t, "network create web --mode overlay --subnet 10.20.0.0/16 --subnet fd20::/64") // with tunnels of our own
	s.quiet(t)
	s.heddle(t, "network delete web")
}

// newMember is a host that is the first of a cluster.
func newMember(t *testing.T) *scene {
	t.Helper()
	cell.Need(t)
	s := &scene{t: t, dir: t.TempDir(), bin: t.TempDir(), tools: map[string]string{}}
	cell.Sh(t, `umask 022; mkdir -p /run/own-etc && cp -a /etc/. /run/own-etc/ && mount --bind /run/own-etc /etc
rm -rf /etc/cni/net.d /etc/docker/daemon.json /etc/sysctl.d /etc/sysctl.conf
mkdir -p %s %s
echo nameserver 192.0.2.53 >/etc/resolv.conf
mount -t tmpfs -o mode=755 run %s
sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.ip_local_port_range='32768 60999'
ip link set lo up
ip link add lan0 type veth peer name wlan0
ip link set wlan0 up; ip link set lan0 up
ip address add 192.0.2.10/24 dev lan0; ip address add 2001:db8::10/64 dev lan0 nodad; ip route add default via 192.0.2.1`, s.state(), s.run(), s.run())
	t.Cleanup(func() { cell.TrySh("ip link del wlan0; umount -l %s; umount -l /etc", s.run()) })
	s.member(t)
	return s
}

// member starts the agent, which makes the cluster, and waits until it answers and
// finds itself healthy.
func (s *scene) member(t *testing.T) {
	t.Helper()
	log, err := os.Create(filepath.Join(s.dir, "member.log"))
	cell.Must(t, err)
	defer log.Close()
	cmd := exec.Command(cell.Build(t, "heddled"), "--resolver", "none", "--state-dir", s.state(), "--run-dir", s.run(), "--store", "embedded", "--underlay", "lan0")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cell.Must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("the agent's log:\n%s", text)
		}
	})
	_, err = poll.Until(2*time.Minute, 100*time.Millisecond, func() error {
		out, err := s.command(t, "host", "list").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("no cluster after two minutes: %v", err)
	}
	s.until(t, "agent-parts", false)
}

// certificate puts one of other dates in the place of the host's for a while; the
// agent has read its own.
func (s *scene) certificate(from, to time.Duration) func(*testing.T) func() {
	return func(t *testing.T) func() {
		file := filepath.Join(s.state(), "cluster", "host.crt")
		kept, err := os.ReadFile(file)
		cell.Must(t, err)
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		cell.Must(t, err)
		c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "host1"}, NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(to)}
		der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
		cell.Must(t, err)
		cell.Must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
		return func() { cell.Must(t, os.WriteFile(file, kept, 0o600)) }
	}
}
