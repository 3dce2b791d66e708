package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/heddle-network/heddle/firewall"
)

// masqueradeCheck checks whether the kernel gives the ports of masqueraded connections to
// programs, too.
var masqueradeCheck = Check{ID: "masquerade-ports", Title: "Masquerading has ports of its own", Wrong: "Masquerading takes ports that programs may use", Severity: Warn,
	Looks: "/proc/sys/net/ipv4/{ip_local_port_range,ip_local_reserved_ports}, where a network forwards",
	Why: fmt.Sprintf("Masqueraded connections leave by ports %d to %d. A program of the host that is given one of them, and waits there for whoever calls, may not hear of peers that a container has called from it, until the agent has looked again.",
		firewall.FirstMasqueradePort, firewall.LastMasqueradePort),
	Remedy: "sysctl -w net.ipv4.ip_local_reserved_ports=61000-65535", look: lookMasqueradePorts, fix: fixMasqueradePorts}

// sharedPorts returns the part of the masquerade ports that the kernel may give to programs.
func sharedPorts(ctx context.Context, h *Host) (part string, err error) {
	networks, err := h.forwarded(ctx)
	var low, high int
	if _, scan := fmt.Sscan(setting(portRange), &low, &high); err != nil || scan != nil || len(networks) == 0 {
		return "", err
	}
	low = max(low, int(firewall.FirstMasqueradePort))
	reserved := setting(reservedPorts)
	for port := low; port <= high; port++ {
		if !inRanges(port, reserved) {
			return fmt.Sprintf("%d-%d", low, high), nil
		}
	}
	return "", nil
}

func lookMasqueradePorts(ctx context.Context, h *Host) Finding {
	part, err := sharedPorts(ctx, h)
	switch {
	case err != nil:
		return unknown(err)
	case part != "":
		return trouble([]string{settingLine(portRange), settingLine(reservedPorts)}, "sysctl -w "+reservedPorts+"="+alsoReserved(part))
	}
	return fine(settingLine(portRange), settingLine(reservedPorts))
}

// alsoReserved returns the value of the setting with more ports.
func alsoReserved(ports string) string {
	return strings.TrimPrefix(setting(reservedPorts)+","+ports, ",")
}

func fixMasqueradePorts(ctx context.Context, h *Host) ([]string, error) {
	part, err := sharedPorts(ctx, h)
	if err != nil || part == "" {
		return nil, err
	}
	return writeSetting(reservedPorts, alsoReserved(part))
}
