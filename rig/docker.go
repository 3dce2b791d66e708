package rig

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/lab"
)

// Docker's layout (bench.DockerLayout) is no mode of an agent: it is what Docker's
// overlay driver makes (moby, libnetwork/drivers/overlay), made by hand on lab hosts
// without agent and firewall.
//
//	container eth0 ── veth ── br0 ── vxlan0 (VNI 4097, UDP 4789) ── eth0 of the host
//	                  (in a namespace of the network's own)
//
// For each container of the other host there is a permanent neighbour entry, with which
// the VXLAN device answers (proxy), and a permanent forwarding entry.

// dockerNote describes the column.
const dockerNote = "our reproduction of the layout that Docker's overlay driver makes (a bridge and a VXLAN device in a namespace of the network's own, proxy, l2miss, l3miss, permanent entries), not its binary; on hosts of its own without any firewall rule"

// dockerMTU is Docker's default, for any wire; networks may be given another one
// (com.docker.network.driver.mtu).
const dockerMTU = 1450

// withoutAgent reports whether a mode's hosts have no agent.
func withoutAgent(mode string) bool { return mode == bench.Native || IsDocker(mode) }

// IsDocker reports whether a mode is Docker's layout.
func IsDocker(mode string) bool { return mode == bench.DockerLayout || mode == bench.DockerLayoutNF }

// dockerSandbox is the namespace of a mode's network, and its VXLAN number.
func dockerSandbox(mode string) (name string, vni int) {
	if mode == bench.DockerLayoutNF {
		return "1-docker-nf", 4098
	}
	return "1-docker", 4097
}

// dockerBridgeNF is the sandbox's bridge-nf-call-iptables; "" leaves it.
func (r *Rig) dockerBridgeNF(mode string) string {
	if mode == bench.DockerLayoutNF {
		return "1"
	}
	return r.BridgeNF
}

func dockerHost(host int) string { return fmt.Sprintf("docker%d", 1+host) }

// dockerAddr is a container's address; the addresses of both hosts are of one
// subnet, and .1 is the gateway's.
func dockerAddr(number, host, i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(200 + number), 0, byte(10 + 120*host + i)})
}

// dockerNetwork makes the network's namespace on both hosts. The VXLAN device is made in
// the host's namespace and then moved, so that its packets leave by the host.
func (r *Rig) dockerNetwork(ctx context.Context, s *testLab, number int, mode string) error {
	sandbox, vni := dockerSandbox(mode)
	for _, h := range s.plainHosts {
		script := fmt.Sprintf(`ip netns add %[1]s
ip -n %[1]s link set lo up
ip -n %[1]s link add br0 type bridge
ip link add vx-001001 mtu %[2]d type vxlan id %[3]d dstport 4789 learning proxy l2miss l3miss
ip link set vx-001001 netns %[1]s
ip -n %[1]s link set vx-001001 name vxlan0 master br0 up
ip -n %[1]s addr add 10.%[4]d.0.1/24 dev br0
ip -n %[1]s link set br0 up
`, sandbox, r.mtu(s, mode), vni, 200+number)
		if nf := r.dockerBridgeNF(mode); nf != "" {
			script += fmt.Sprintf("ip netns exec %s sh -c 'echo %s > /proc/sys/net/bridge/bridge-nf-call-iptables'\n", sandbox, nf)
		}
		if err := onHost(ctx, h, heddle.NotOnKernel, "make Docker's layout", script); err != nil {
			return err
		}
	}
	return nil
}

// dockerContainer makes a container, and adds its entries to the other host.
func (r *Rig) dockerContainer(ctx context.Context, s *testLab, host, number int, mode string, i int) (bench.Endpoint, error) {
	h, name, addr := s.plainHosts[host], fmt.Sprintf("%s-%d", mode, i), dockerAddr(number, host, i)
	sandbox, _ := dockerSandbox(mode)
	end := bench.Endpoint{Name: h.Name + "/" + name, Addr: addr, Command: inContainer(h, "/run/netns/"+name)}
	if err := r.makeNamespace(ctx, h, name); err != nil {
		return end, err
	}
	b := addr.As4()
	mac := fmt.Sprintf("02:42:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3])
	err := onHost(ctx, h, heddle.BenchFailed, "connect container "+name, fmt.Sprintf(`ip link add veth%[1]dc mtu %[5]d type veth peer name veth%[1]d mtu %[5]d
ip link set veth%[1]d netns %[2]s
ip -n %[2]s link set veth%[1]d master br0 up
ip link set veth%[1]dc netns %[3]s
ip -n %[3]s link set veth%[1]dc name eth0 address %[4]s
ip -n %[3]s addr add %[6]s/24 dev eth0
ip -n %[3]s link set lo up
ip -n %[3]s link set eth0 up
`, i, sandbox, name, mac, r.mtu(s, mode), addr))
	if err != nil {
		return end, err
	}
	return end, onHost(ctx, s.plainHosts[1-host], heddle.BenchFailed, "announce container "+name, fmt.Sprintf(`ip -n %[1]s neigh replace %[2]s lladdr %[3]s dev vxlan0 nud permanent
bridge -n %[1]s fdb replace %[3]s dev vxlan0 dst %[4]s self permanent
`, sandbox, addr, mac, h.Addr4))
}

// onHost runs a shell script on a lab host. It stops at the first command that fails.
func onHost(ctx context.Context, h *lab.Host, code heddle.Code, operation, script string) error {
	cmd, err := h.Command(ctx, "sh", "-ec", script)
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return heddle.Wrap(code, operation+" on lab host", h.Name, fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out))),
			"install iproute2, and use a kernel with bridge and vxlan; or leave "+bench.DockerLayout+" out of --modes")
	}
	return nil
}
