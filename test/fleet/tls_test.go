package fleet_test

import (
	"context"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
)

// etcdAt is the first host's address in a lab.
const etcdAt = "172.31.240.11"

// secureEtcd is a lab whose first host runs an etcd that wants certificates of an
// operator's authority, and whose agents are not started yet.
type secureEtcd struct {
	*fleet
	*authority
}

func newSecureEtcd(t *testing.T, hosts int) *secureEtcd {
	t.Helper()
	cell.Need(t)
	for _, program := range []string{"etcd", "etcdctl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s (packages etcd-server, etcd-client)", program)
		}
	}
	s := &secureEtcd{authority: newAuthority(t)}
	nodes := plainHosts(hosts)
	s.grant(t, "server", netip.MustParseAddr(etcdAt))
	s.grant(t, "root")
	for _, n := range nodes {
		s.grant(t, n.Name)
	}
	clients := "https://" + etcdAt + ":2379"
	nodes[0].Daemons = []lab.Daemon{{Name: "etcd", Ready: lab.Ready{TCP: 2379}, Command: []string{"etcd", "--data-dir", "/run/etcd",
		"--listen-client-urls", clients, "--advertise-client-urls", clients, "--listen-peer-urls", "http://127.0.0.1:2380",
		"--client-cert-auth", "--trusted-ca-file", s.file("ca.crt"), "--cert-file", s.file("server.crt"), "--key-file", s.file("server.key")}}}
	s.fleet = raise(t, lab.Topology{Name: "tls", Hosts: nodes})
	return s
}

// etcdctl runs a script on the first host in the name of a user of etcd.
func (s *secureEtcd) etcdctl(user, script string) (string, error) {
	cmd, err := s.hosts[0].Command(context.Background(), "env", "ETCDCTL_API=3", "ETCDCTL_ENDPOINTS=https://"+etcdAt+":2379",
		"ETCDCTL_CACERT="+s.file("ca.crt"), "ETCDCTL_CERT="+s.file(user+".crt"), "ETCDCTL_KEY="+s.file(user+".key"), "sh", "-ec", script)
	if err != nil {
		return "", err
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestEtcdTLS gives agents an etcd with TLS and users, set up with the lines of the
// guide, and started with its flags: they share networks, and no host may write
// what is another's.
func TestEtcdTLS(t *testing.T) {
	soak.Turn(t, 1)
	s := newSecureEtcd(t, 3)
	users := guideText(t, "etcdctl role add")
	for _, h := range s.hosts {
		s.mustEtcd(t, strings.ReplaceAll(users, "host1", h.Host.Name))
	}
	s.mustEtcd(t, "etcdctl role grant-permission heddle-host1 readwrite /heddle/cluster")
	s.mustEtcd(t, "etcdctl user add root --no-password; etcdctl user grant-role root root; etcdctl auth enable")
	flags := guideText(t, "--store-ca")
	_, flags, _ = strings.Cut(strings.ReplaceAll(flags, "192.0.2.1:2379,192.0.2.2:2379", etcdAt+":2379"), "heddled ")
	for _, h := range s.hosts {
		args := strings.Fields(strings.NewReplacer("ca.crt", s.file("ca.crt"), "host1.crt", s.file(h.Host.Name+".crt"), "host1.key", s.file(h.Host.Name+".key")).Replace(flags))
		h.start(t, append(args, "--underlay", "eth0")...)
	}
	s.network(t, "app", "10.10.0.0/24", "fd10::/64")
	pods := s.onePod(t, "app")
	meet(t, pods)
	if out, err := s.etcdctl("host2", "etcdctl put /heddle/hosts/host1/self stolen"); err == nil || !strings.Contains(out, "permission denied") {
		t.Errorf("host2 writes what is host1's: %v %s", err, out)
	}
	if out, err := s.etcdctl("host2", "etcdctl put /heddle/cluster stolen"); err == nil || !strings.Contains(out, "permission denied") {
		t.Errorf("host2 writes the cluster's record: %v %s", err, out)
	}
	for _, p := range pods {
		p.detach(t)
	}
	s.hosts[2].deleted(t, "app")
}

// TestEtcdTLSRefused starts an agent that does not trust the etcd, and one that it
// does not trust: both say so, and end.
func TestEtcdTLSRefused(t *testing.T) {
	soak.Turn(t, 2)
	s := newSecureEtcd(t, 1)
	other := newAuthority(t)
	other.grant(t, "host1")
	for what, a := range map[string][2]*authority{"another authority for the server": {other, s.authority}, "another authority's certificate": {s.authority, other}} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		cmd, err := s.hosts[0].Command(ctx, cell.Build(t, "heddled"), "--underlay", "eth0", "--store", "etcd://"+etcdAt+":2379",
			"--store-ca", a[0].file("ca.crt"), "--store-cert", a[1].file("host1.crt"), "--store-key", a[1].file("host1.key"))
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.CombinedOutput()
		cancel()
		if err == nil || !strings.Contains(string(out), string(heddle.StoreRefused)) || !strings.Contains(string(out), "certificate") {
			t.Errorf("%s: %v\n%s", what, err, out)
		}
	}
}

func (s *secureEtcd) mustEtcd(t *testing.T, script string) {
	t.Helper()
	if out, err := s.etcdctl("root", script); err != nil {
		t.Fatalf("%s\n%v\n%s", script, err, out)
	}
}

// guideText is the guide's block of text that has the words.
func guideText(t *testing.T, words string) string {
	t.Helper()
	guide, err := os.ReadFile("../../docs/guides/overlay.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, rest := range strings.Split(string(guide), "\n```text\n")[1:] {
		if block, _, _ := strings.Cut(rest, "\n```\n"); strings.Contains(block, words) {
			return block
		}
	}
	t.Fatalf("the guide has no block with %q", words)
	return ""
}
