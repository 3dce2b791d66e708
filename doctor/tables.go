package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle/kernel"
)

// tableChecks are about tables that may be full, and ports that may collide.
func tableChecks() []Check {
	return []Check{
		{ID: "conntrack-fill", Title: "The connection table has room", Wrong: "The connection table is nearly full", Severity: Warn, Looks: "/proc/sys/net/netfilter/nf_conntrack_{count,max}",
			Why: "A full table drops new connections, and the log says 'table full, dropping packet'. From 80 percent on this is told.", Remedy: "sysctl -w net.netfilter.nf_conntrack_max=262144",
			look: lookFill("net/netfilter/nf_conntrack_count", "net/netfilter/nf_conntrack_max")},
		{ID: "neigh-room", Title: "The neighbour tables have room", Wrong: "The neighbour tables are nearly full", Severity: Warn, Looks: "the number of entries of 'ip neigh', and /proc/sys/net/{ipv4,ipv6}/neigh/default/gc_thresh3 (the machine's own namespace has them)",
			Why: "Beyond gc_thresh3 the kernel refuses new neighbours ('neighbour table overflow').", Remedy: "sysctl -w net.ipv4.neigh.default.gc_thresh3=16384", look: lookNeighbours},
		{ID: "file-table", Title: "The machine has file handles left", Wrong: "The machine has few file handles left", Severity: Warn, Looks: "/proc/sys/fs/file-nr: in use, free, most",
			Why: "No program can open anything any more.", Remedy: "sysctl -w fs.file-max=1000000", look: lookFileTable},
		{ID: "port-range", Title: "Published ports are not handed out to programs", Wrong: "Published ports may be handed out to programs", Severity: Warn, Looks: "/proc/sys/net/ipv4/{ip_local_port_range,ip_local_reserved_ports}, and the published ports",
			Why: "A program of the host that connects somewhere may get the published port as its own; then the replies to it go to the container.", Remedy: "sysctl -w net.ipv4.ip_local_reserved_ports=PORT", look: lookPortRange, fix: fixPortRange},
		masqueradeCheck,
		{ID: "port-taken", Title: "No program of the host listens on a published port", Wrong: "A program of the host listens on a published port", Severity: Warn, Looks: "/proc/net/{tcp,tcp6,udp,udp6,sctp/eps}, and the published ports",
			Why: "The container gets the connections from outside, and the program never hears of them.", Remedy: "ss -ltnup, then stop the program or publish another port", look: lookPortTaken},
	}
}

func lookFill(count, most string) func(context.Context, *Host) Finding {
	return func(context.Context, *Host) Finding {
		used, err1 := strconv.Atoi(setting(count))
		limit, err2 := strconv.Atoi(setting(most))
		switch {
		case err1 != nil || err2 != nil:
			return skip("/proc/sys/" + most + " is not there: the kernel tracks no connections")
		case used*5 >= limit*4:
			return trouble([]string{settingLine(count), settingLine(most)}, "sysctl -w "+most+"="+strconv.Itoa(limit*2))
		}
		return fine(settingLine(count), settingLine(most))
	}
}

func lookNeighbours(ctx context.Context, _ *Host) Finding {
	var read, evidence, remedy []string
	for family, flag := range map[string]string{"ipv4": "-4", "ipv6": "-6"} {
		name := "net/" + family + "/neigh/default/gc_thresh3"
		limit, err := strconv.Atoi(setting(name))
		if err != nil {
			continue
		}
		text, err := show(ctx, "ip", flag, "neigh", "show", "nud", "all")
		if err != nil {
			return skip(err.Error())
		}
		// permanent entries, such as heddle's, do not count (neigh_alloc)
		used := 0
		for line := range strings.Lines(text) {
			if !strings.Contains(line, "PERMANENT") && !strings.Contains(line, "NOARP") {
				used++
			}
		}
		read = append(read, fmt.Sprintf("ip %s neigh: %d entries that count; %s", flag, used, settingLine(name)))
		if used*5 >= limit*4 {
			evidence = append(evidence, read[len(read)-1])
			remedy = append(remedy, "sysctl -w "+name+"="+strconv.Itoa(limit*4))
		}
	}
	switch {
	case len(evidence) > 0:
		return trouble(evidence, remedy...)
	case len(read) == 0:
		return skip("this namespace is not the machine's own and shows no limits")
	}
	return fine(read...)
}

func lookFileTable(context.Context, *Host) Finding {
	f := strings.Fields(setting("fs/file-nr"))
	if len(f) != 3 {
		return skip("/proc/sys/fs/file-nr is not there")
	}
	used, _ := strconv.ParseUint(f[0], 10, 64)
	most, _ := strconv.ParseUint(f[2], 10, 64)
	if used/9 >= most/10 {
		return trouble([]string{settingLine("fs/file-nr")})
	}
	return fine(settingLine("fs/file-nr"))
}

const (
	portRange     = "net/ipv4/ip_local_port_range"
	reservedPorts = "net/ipv4/ip_local_reserved_ports"
)

// unreserved lists the published ports that the kernel may give to programs.
func unreserved(ctx context.Context, h *Host) (some []published, err error) {
	all, err := h.ports(ctx)
	var low, high int
	if _, scan := fmt.Sscan(setting(portRange), &low, &high); err != nil || scan != nil {
		return nil, err
	}
	for _, p := range all {
		if port := int(p.HostPort); port >= low && port <= high && !inRanges(port, setting(reservedPorts)) {
			some = append(some, p)
		}
	}
	return some, nil
}

// inRanges reports whether the port is in a list such as "8080,9148-9150".
func inRanges(port int, list string) bool {
	for r := range strings.SplitSeq(list, ",") {
		from, to, pair := strings.Cut(r, "-")
		if !pair {
			to = from
		}
		low, err1 := strconv.Atoi(from)
		high, err2 := strconv.Atoi(to)
		if err1 == nil && err2 == nil && port >= low && port <= high {
			return true
		}
	}
	return false
}

func lookPortRange(ctx context.Context, h *Host) Finding {
	some, err := unreserved(ctx, h)
	if err != nil {
		return unknown(err)
	}
	var evidence []string
	for _, p := range some {
		evidence = append(evidence, fmt.Sprintf("endpoint %s publishes %s", p.endpoint, p.PortMapping))
	}
	if len(evidence) > 0 {
		evidence = append(evidence, settingLine(portRange), settingLine(reservedPorts))
		return trouble(evidence, "sysctl -w "+reservedPorts+"="+reservedWith(some))
	}
	return fine(settingLine(portRange), settingLine(reservedPorts))
}

func reservedWith(some []published) string {
	list := setting(reservedPorts)
	for _, p := range some {
		list = strings.TrimPrefix(list+","+strconv.Itoa(int(p.HostPort)), ",")
	}
	return list
}

func fixPortRange(ctx context.Context, h *Host) ([]string, error) {
	some, err := unreserved(ctx, h)
	if err != nil {
		return nil, err
	}
	return writeSetting(reservedPorts, reservedWith(some))
}

func lookPortTaken(ctx context.Context, h *Host) Finding {
	all, err := h.ports(ctx)
	if err != nil {
		return unknown(err)
	}
	var evidence []string
	for _, p := range all {
		if p.Protocol == "sctp" {
			evidence = append(evidence, sctpListeners(p)...)
			continue
		}
		for _, version := range []string{"", "6"} {
			line := listener(filepath.Join("/proc/thread-self/net", p.Protocol+version), p.HostPort, p.Protocol)
			if line != "" {
				evidence = append(evidence, fmt.Sprintf("endpoint %s publishes %s", p.endpoint, p.PortMapping), line)
			}
		}
	}
	return trouble(evidence)
}

// sctpListeners is the evidence of programs that listen on a port of SCTP.
func sctpListeners(p published) (evidence []string) {
	all, err := kernel.SCTPListeners()
	if err != nil {
		return []string{err.Error()}
	}
	for _, l := range all {
		if l.Port == p.HostPort {
			evidence = append(evidence, fmt.Sprintf("endpoint %s publishes %s", p.endpoint, p.PortMapping),
				fmt.Sprintf("/proc/net/sctp/eps: a program listens on port %d at %v", l.Port, l.Addrs))
		}
	}
	return evidence
}

// listener finds the line of a socket that listens on the port: TCP_LISTEN is 0A, an
// unconnected UDP socket has 07 (include/net/tcp_states.h).
func listener(path string, port uint16, protocol string) string {
	state := map[string]string{"tcp": "0A", "udp": "07"}[protocol]
	b, _ := os.ReadFile(path)
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) > 3 && f[3] == state && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
			return path + ": " + strings.TrimSpace(line)
		}
	}
	return ""
}
