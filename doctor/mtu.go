package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
)

func mtuChecks() []Check {
	return []Check{
		{ID: "mtu-parent", Title: "Networks fit their uplink", Wrong: "Networks do not fit their uplink", Severity: Warn, Looks: "the MTU of each network, and of its parent or the uplink in 'ip link'",
			Why: "Large packets are dropped or answered with 'fragmentation needed', which many firewalls drop: connections hang after the first bytes. It happens when the uplink's MTU was lowered after the network was created.", Remedy: "ip link set UPLINK mtu MTU, or create the network anew with --mtu", look: lookParentMTU},
		{ID: "mtu-bridge", Title: "A bridge and its ports have one MTU", Wrong: "A bridge and its ports differ in their MTU", Severity: Warn, Looks: "the MTU of heddle's bridges and of their ports in 'ip link'",
			Why: "A frame larger than the port it leaves by is dropped by the bridge without a word.", Remedy: "ip link set PORT mtu MTU", look: lookBridgeMTU, fix: fixBridgeMTU},
		{ID: "mtu-path", Title: "No path is narrower than the networks", Wrong: "A path is narrower than the networks", Severity: Warn, Looks: "'ip route show cache': the path MTUs that the host has learned, and the networks' MTUs",
			Why: "Somewhere on the way a link is smaller. TCP copes if ICMP passes; UDP with large datagrams does not.", Remedy: "heddle network create NAME … --mtu MTU", look: lookPathMTU},
	}
}

func lookParentMTU(ctx context.Context, h *Host) Finding {
	networks, err := h.Networks(ctx)
	if err != nil {
		return unknown(err)
	}
	facts, err := h.Facts()
	if err != nil {
		return unknown(err)
	}
	var evidence, remedy []string
	for _, n := range networks {
		up, known := facts.Uplink(n)
		if known && len(n.Subnets) > 0 && n.MTU > up.MTU {
			evidence = append(evidence, fmt.Sprintf("network %s: mtu %d; ip link show %s: mtu %d", n.Name, n.MTU, up.Name, up.MTU))
			remedy = append(remedy, fmt.Sprintf("ip link set %s mtu %d", up.Name, n.MTU), fmt.Sprintf("or create %s anew with --mtu %d", n.Name, up.MTU))
		}
	}
	return trouble(evidence, remedy...)
}

// unequal returns the ports of heddle's bridges whose MTU differs from their bridge's, and these bridges.
func unequal(ctx context.Context, h *Host) (ports, bridges []link, err error) {
	links, err := h.Links(ctx)
	named := map[string]link{}
	for _, l := range links {
		named[l.Name] = l
	}
	for _, l := range links {
		b := named[l.Master]
		if strings.HasPrefix(l.Master, heddle.PrefixBridge) && b.ours() && l.MTU != b.MTU {
			ports, bridges = append(ports, l), append(bridges, b)
		}
	}
	return ports, bridges, err
}

func lookBridgeMTU(ctx context.Context, h *Host) Finding {
	ports, bridges, err := unequal(ctx, h)
	if err != nil {
		return unknown(err)
	}
	var evidence, remedy []string
	for i, p := range ports {
		evidence = append(evidence, fmt.Sprintf("ip link: %s: mtu %d master %s; %s: mtu %d", p.Name, p.MTU, p.Master, p.Master, bridges[i].MTU))
		remedy = append(remedy, fmt.Sprintf("ip link set %s mtu %d", p.Name, bridges[i].MTU))
	}
	return trouble(evidence, remedy...)
}

// fixBridgeMTU gives the ports their bridge's MTU, which is the network's. It was set
// explicitly, so the kernel does not adapt it to the ports.
func fixBridgeMTU(ctx context.Context, h *Host) (done []string, err error) {
	ports, bridges, err := unequal(ctx, h)
	for i, p := range ports {
		argv := []string{"ip", "link", "set", p.Name, "mtu", strconv.Itoa(bridges[i].MTU)}
		if _, err := show(ctx, argv...); err != nil {
			return done, err
		}
		done = append(done, strings.Join(argv, " "))
	}
	return done, err
}

func lookPathMTU(ctx context.Context, h *Host) Finding {
	networks, err := h.Networks(ctx)
	if err != nil {
		return unknown(err)
	}
	most := 0
	for _, n := range networks {
		most = max(most, n.MTU)
	}
	var evidence []string
	for _, family := range []string{"-4", "-6"} {
		text, err := show(ctx, "ip", "-o", family, "route", "show", "cache")
		if err != nil {
			return skip(err.Error())
		}
		for line := range strings.Lines(text) {
			_, after, found := strings.Cut(line, " mtu ")
			number, _, _ := strings.Cut(strings.TrimSpace(after), " ")
			if mtu, err := strconv.Atoi(number); found && err == nil && mtu < most {
				evidence = append(evidence, "ip "+family+" route show cache: "+strings.Join(strings.Fields(line), " "))
			}
		}
	}
	return trouble(evidence)
}
