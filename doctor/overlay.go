package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/path"
)

func overlayChecks() []Check {
	usual := path.Default()
	return append(recordChecks(), []Check{
		{ID: "tunnel-port", Title: "The tunnels' port is free", Wrong: "The tunnels' port is taken", Severity: Fail, Looks: "/proc/net/udp and udp6, and VXLAN devices of others in 'ip -d link'; where the host is in a cluster",
			Why: "A program on the port keeps the tunnel device from coming up. A VXLAN device of another network on the same port loses its packets: heddle drops what is not of its cluster.", Remedy: "stop the program, or start all agents of a new cluster with --tunnel-port PORT", look: lookTunnelPort},
		{ID: "underlay-address", Title: "An interface has the host's underlay address", Wrong: "No interface has the host's underlay address", Severity: Fail, Looks: "this host's addresses in 'heddle host list', and those in 'ip address'",
			Why: "Other hosts send to the address that the agent had when it started. A new one is not taken while it runs.", Remedy: "ip address add ADDRESS/LENGTH dev INTERFACE to give it back, or systemctl restart heddled to take the new one; a host that keeps the store is replaced first ('heddle host replace')", look: lookUnderlayAddress},
		{ID: "underlay-mtu", Title: "The underlay has room for IPv6 in tunnels", Wrong: "The underlay has no room for IPv6 in tunnels", Severity: Warn, Looks: "'ip link': the MTU of the interface with the underlay address",
			Why: fmt.Sprintf("%s takes %d bytes of each packet, %d over IPv6, and IPv6 needs %d.", usual.Title(), usual.Overhead(heddle.IPv4), usual.Overhead(heddle.IPv6), heddle.IPv6.LeastMTU()), Remedy: "ip link set INTERFACE mtu 1500", look: lookUnderlayMTU},
		{ID: "path-narrow", Title: "Every path carries what its ends do", Wrong: "A path carries less than its ends do", Severity: Warn, Looks: "'heddle path list': the path MTUs, and the underlay's own MTU",
			Why: "Something on the way is narrower. Heddle has the smaller MTU on its routes; other traffic of the host may hang.", Remedy: "ping -M do -s SIZE PEER, and look at the devices on the way; tracepath PEER names them", look: lookPathNarrow},
		{ID: "peers-answer", Title: "All other hosts answer on the underlay", Wrong: "A host does not answer on the underlay", Severity: Warn, Looks: "'heddle peer list'",
			Why: "Their containers are not reached from here. It is also so where a firewall drops ICMP echoes; then the path MTU is not known.", Remedy: "ping PEER; let icmp echo-request pass between the hosts", look: lookPeersAnswer},
		{ID: "underlay-input", Title: "No other firewall drops tunnels and the store", Wrong: "Another firewall drops tunnels or the store", Severity: Warn, Looks: "foreign base chains at the hook input: policy drop without a rule that accepts the ports, and rules that drop them",
			Why: fmt.Sprintf("Hosts reach each other on UDP %d (tunnels) and TCP 9478 (joining), 9479 and 9480 (store).", usual.Port()), Remedy: fmt.Sprintf("nft insert rule CHAIN udp dport %d accept; nft insert rule CHAIN tcp dport 9478-9480 accept", usual.Port()), look: lookUnderlayInput},
		{ID: "cluster-clock", Title: "The clock fits the cluster's certificates", Wrong: "The clock does not fit the cluster's certificates", Severity: Fail, Looks: "the dates in STATE/cluster/*.crt",
			Why: "A certificate that is not valid yet is refused by all other hosts.", Remedy: "timedatectl set-ntp true", look: lookClusterClock},
		{ID: "cluster-certificate", Title: "The cluster's certificates do not expire soon", Wrong: "A certificate of the cluster expires soon", Severity: Warn, Looks: "the dates in STATE/cluster/*.crt",
			Why: "The agent renews them long before. One that has expired keeps it from the store; a new one needs a token.", Remedy: "journalctl -u heddled says why it was not renewed; 'heddle host token' on another host, then heddled --join ADDR --token-file FILE", look: lookCertificate},
		{ID: "store-reach", Title: "The members of the store are reached", Wrong: "Members of the store are not reached", Severity: Warn, Looks: "a TCP connection to each address in STATE/cluster/endpoints",
			Why: "Without most of them no network and no address block can be changed; traffic goes on.", Remedy: "start heddled on the host that does not answer, or 'heddle host replace OLD NEW'", look: lookStoreReach},
		{ID: "tunnel-checksums", Title: "Checksums in tunnels are left to the NIC", Wrong: "Checksums in tunnels are not left to the NIC", Severity: Warn, Looks: "the part paths in 'heddle status'",
			Why: "They were found to arrive spoiled, so the agent has them computed in software, which costs throughput.", Remedy: "look for a newer driver or firmware of the NIC; ethtool -i INTERFACE", look: lookTunnelChecksums},
		{ID: "tunnel-offload", Title: "The NIC cuts large packets within tunnels", Wrong: "The NIC does not cut large packets within tunnels", Severity: Note, Looks: "tx-udp_tnl-segmentation in 'ethtool -k' of the interface with the underlay address",
			Why: "Without it the host cuts them itself: the same packets for more CPU time.", Remedy: "ethtool -K INTERFACE tx-udp_tnl-segmentation on, if the NIC can", look: lookTunnelOffload},
	}...)
}

// clustered reports whether the host belongs to a cluster. It looks at the agent's files: the
// agent may be down.
func (h *Host) clustered() bool {
	_, err := os.Stat(filepath.Join(h.StateDir, "cluster"))
	return err == nil
}

var notInCluster = skip("the host is in no cluster")

func lookTunnelPort(ctx context.Context, h *Host) Finding {
	if !h.clustered() {
		return notInCluster
	}
	links, err := h.Links(ctx)
	if err != nil {
		return unknown(err)
	}
	by := pathOf(links)
	port := int(by.Port())
	for _, l := range links {
		if l.Info.Kind == by.Kind() && l.ours() {
			port = l.Info.Data.Port
		}
	}
	var evidence []string
	kernels := false // the kernel's own socket looks like a program's
	for _, l := range links {
		if l.Info.Kind != by.Kind() || l.Info.Data.Port != port {
			continue
		}
		kernels = true
		if !l.ours() {
			evidence = append(evidence, fmt.Sprintf("ip -d link: %s: %s id %d dstport %d", l.Name, l.Info.Kind, l.Info.Data.ID, port))
		}
	}
	for _, file := range []string{"/proc/thread-self/net/udp", "/proc/thread-self/net/udp6"} {
		lines, _ := linesOf(file)
		for _, line := range lines {
			if !kernels && listens(line.text, port) {
				evidence = append(evidence, fmt.Sprintf("%s: %s: port %d; ss -ulpn names the program", file, line.text, port))
			}
		}
	}
	return trouble(evidence)
}

// pathOf returns how this host's packets reach other hosts, judging by its devices.
func pathOf(links []link) path.Path {
	for _, p := range path.All() {
		if slices.ContainsFunc(links, func(l link) bool { return l.Info.Kind == p.Kind() && l.ours() }) {
			return p
		}
	}
	return path.Default()
}

// listens reports whether a line of /proc/net/udp (proc(5)) has the port.
func listens(line string, port int) bool {
	f := strings.Fields(line)
	if len(f) < 2 {
		return false
	}
	_, hex, _ := strings.Cut(f[1], ":")
	number, err := strconv.ParseUint(hex, 16, 16)
	return err == nil && int(number) == port
}

func lookUnderlayMTU(ctx context.Context, h *Host) Finding {
	l, addr, missing := h.underlay(ctx)
	if missing != nil {
		return *missing
	}
	links, err := h.Links(ctx)
	if err != nil {
		return unknown(err)
	}
	read := fmt.Sprintf("ip link show %s: mtu %d", l.Name, l.MTU)
	if least := heddle.IPv6.LeastMTU() + pathOf(links).Overhead(heddle.FamilyOf(addr)); l.MTU < least {
		return trouble([]string{read, fmt.Sprintf("IPv6 in tunnels needs %d", least)}, fmt.Sprintf("ip link set %s mtu 1500", l.Name))
	}
	return fine(read)
}

// peers returns the other hosts as the agent sees them.
func (h *Host) peers(ctx context.Context) ([]heddle.PeerStatus, *Finding) {
	if !h.clustered() {
		return nil, &notInCluster
	}
	all, err := ask(ctx, h, (*client.Client).Peers)
	if err != nil {
		f := unknown(err)
		return nil, &f
	}
	return all, nil
}

func lookPathNarrow(ctx context.Context, h *Host) Finding {
	own, _, missing := h.underlay(ctx)
	if missing != nil {
		return *missing
	}
	all, err := ask(ctx, h, (*client.Client).Hosts)
	if err != nil {
		return unknown(err)
	}
	peers, missing := h.peers(ctx)
	if missing != nil {
		return *missing
	}
	ends := map[string]int{}
	for _, host := range all {
		ends[host.Name] = min(own.MTU, host.MTU)
	}
	var evidence []string
	for _, p := range peers {
		if p.PathMTU > 0 && p.PathMTU < ends[p.Name] {
			evidence = append(evidence, fmt.Sprintf("heddle path list: %s (%s): path MTU %d, both ends' %d", p.Name, p.Underlay, p.PathMTU, ends[p.Name]))
		}
	}
	return trouble(evidence)
}

func lookPeersAnswer(ctx context.Context, h *Host) Finding {
	peers, missing := h.peers(ctx)
	if missing != nil {
		return *missing
	}
	var evidence []string
	for _, p := range peers {
		switch {
		case p.Path == "none":
			evidence = append(evidence, fmt.Sprintf("heddle peer list: %s: no underlay address of an IP version that this host has", p.Name))
		case p.State == "silent":
			evidence = append(evidence, fmt.Sprintf("heddle peer list: %s (%s): silent since %s", p.Name, p.Underlay, p.Since.UTC().Format("2006-01-02 15:04:05 UTC")))
		}
	}
	return trouble(evidence)
}
