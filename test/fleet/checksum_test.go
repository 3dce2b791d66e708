package fleet_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/path"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// TestSpoiledChecksums has a wire that spoils the checksums which are left to the
// NIC of packets in tunnels: the agents find out, compute them in software, say so,
// and containers talk. It stays so when an agent is killed.
func TestSpoiledChecksums(t *testing.T) {
	soak.Turn(t, 0)
	f := raise(t, lab.Topology{Name: "checksums", Cut: true, Hosts: plainHosts(2)})
	f.spoil(t, "host1")
	f.hosts[0].start(t, "--store", "embedded", "--underlay", "eth0")
	f.join(t, f.hosts[1])
	f.network(t, "app", "10.10.0.0/24", "fd10::/64")
	one, two := f.hosts[0].attach(t, "one", "app"), f.hosts[1].attach(t, "two", "app")
	f.everywhere(t, "checksums are computed in software", (*host).softly)
	for _, pair := range [][]*pod{{one, two}, {two, one}} {
		server := pair[1]
		pair[0].finds(t, server.addrs()...)
		server.Serve(t, 7000, server.addrs()...)
		pair[0].Gets(t, server.Netns.Name, 7000, server.addrs()...)
	}
	f.hosts[0].kill(t)
	f.hosts[0].start(t)
	f.everywhere(t, "checksums are still computed in software", (*host).softly)
	one.Gets(t, two.Netns.Name, 7000, two.addrs()...)
	one.detach(t)
	two.detach(t)
}

// softly reports what lacks of a host that computes its tunnels' checksums.
func (h *host) softly() error {
	out, err := h.TrySh("for d in $(ip -o link show type vxlan | sed 's/.*: \\(hv[^:@]*\\).*/\\1/'); do ethtool -k $d | grep ^tx-checksumming; done")
	if err != nil || !strings.Contains(out, "off") || strings.Contains(out, ": on") {
		return fmt.Errorf("%w: %q", err, out)
	}
	st, err := h.Status(context.Background())
	if p := st.Part("paths"); p.State == "warn" && strings.Contains(p.Detail, "checksums") {
		return nil
	}
	return fmt.Errorf("%w: %v", err, st.Parts)
}

// spoil puts a pair of sockets into a host's wire that hand on what is in a tunnel
// as it is, and finish all other checksums, as a NIC does that does not look into
// tunnels.
func (f *fleet) spoil(t *testing.T, name string) {
	t.Helper()
	sw := f.lab.Switches[0]
	in := world.Netns{Name: sw.Name, Path: sw.Netns}
	in.Sh(t, `ip link set %s nomaster; ip link add spoil0 mtu 1500 type veth peer name spoil1; ip link set spoil1 master %s
		for d in %[1]s spoil0 spoil1; do sysctl -qw net.ipv6.conf.$d.disable_ipv6=1; ip link set $d up; done`, name, sw.Name)
	in.Splice(t, [2]string{name, "spoil0"}, finished)
}

// finished is a frame with its checksum, unless it is a tunnel's.
func finished(frame []byte) []byte {
	p := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.NoCopy)
	n := p.NetworkLayer()
	switch l := p.TransportLayer().(type) {
	case *layers.TCP:
		l.SetNetworkLayerForChecksum(n)
	case *layers.UDP:
		if uint16(l.DstPort) == path.Default().Port() {
			return frame
		}
		l.SetNetworkLayerForChecksum(n)
	default:
		return frame
	}
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializePacket(b, gopacket.SerializeOptions{ComputeChecksums: true}, p); err != nil {
		return frame
	}
	return b.Bytes()
}
