package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// Limits are what a machine bears; 0 is not known.
type Limits struct {
	// Memory is what is available, in bytes. A control group's memory.max, which may be lower, is not in it.
	Memory      int64
	Files       int64 // that a process may open, whatever its privileges (fs.nr_open)
	FilesOfUser int64 // that a process of this user may open (RLIMIT_NOFILE, the hard one)
	Ports       int64 // of one address (net.ipv4.ip_local_port_range)
	Neighbours  int64 // of all network namespaces, in each family (net.ipv4.neigh.default.gc_thresh3)
	Tracked     int64 // connections (net.netfilter.nf_conntrack_max)
	BridgePorts int64 // of all bridges of a network
}

// What a user, and what a user does, take.
const (
	// perUser is the kernel's memory for a container's namespace and interfaces, in bytes. Measured: 291 KiB, on Linux 6.18
	// with 400 namespaces, each with a veth pair on one bridge and an address of each family, without rules.
	perUser = 320 << 10
	// perLink is what a link takes besides, in bytes, of the kernel and of the program. Measured: 34 KB of slabs and
	// per-processor memory, and 17 KB of the program, on Linux 6.18 with two processors, 1,000 namespaces, nothing under way.
	perLink = 64 << 10
	// perSocket is that of a connected TCP socket (computed from the kernel's structures, without queued data).
	perSocket = 3600
	// perTracked is that of a tracked connection.
	perTracked = 256
	// perSession is the program's memory for a session that goes on. No source: a guess.
	perSession = 32 << 10
	// base is the program's memory before it has users. No source: a guess.
	base = 64 << 20
	// baseFiles are files of a program of Go, and of the services. No source: a guess.
	baseFiles = 256
	// maxPorts are those of an address from 1024 on.
	maxPorts = 64512
)

// Need is what the plan takes of something that a machine has not without end.
type Need struct {
	What string `json:"what"`
	Need int64  `json:"need"`
	// Limit is what the machine bears; 0 is not known.
	Limit   int64  `json:"limit"`
	Setting string `json:"setting"` // that has the limit
	// Modes in which it is needed; none for all of them.
	Modes  []string `json:"modes,omitempty"`
	Remedy string   `json:"remedy,omitempty"` // if the limit is below the need
}

// Met reports whether the machine bears it.
func (n Need) Met() bool { return n.Limit == 0 || n.Need <= n.Limit }

// Concerns reports whether it is needed in one of the modes.
func (n Need) Concerns(modes []string) bool {
	return len(n.Modes) == 0 || slices.ContainsFunc(n.Modes, func(m string) bool { return slices.Contains(modes, m) })
}

// fewer is the remedy where no setting helps.
const fewer = "give fewer users"

// Needs compares what the plan needs with what a machine bears.
func (s Summary) Needs(l Limits) []Need {
	users, open := int64(s.Users), s.Peak.Connections
	files := int64(s.Linked) + int64(s.Captured) + open + s.Peak.Answered + baseFiles
	raise := roomFor(files)
	if l.Files >= files { // no process may open more
		raise = min(raise, l.Files)
	}
	ports := `sysctl -w net.ipv4.ip_local_port_range="1024 65535"`
	if s.Peak.Ports > maxPorts {
		ports = fewer
	}
	all := []Need{
		{What: "memory", Need: s.Memory(), Limit: l.Memory, Setting: "MemAvailable",
			Remedy: "add memory, or end what takes it"},
		{What: "open files", Need: files, Limit: l.Files, Setting: "fs.nr_open", Remedy: sysctl("fs.nr_open", files)},
		{What: "open files", Need: files, Limit: l.FilesOfUser, Setting: "RLIMIT_NOFILE",
			Remedy: fmt.Sprintf("as root: ulimit -Hn %d, or nofile in /etc/security/limits.conf", raise)},
		{What: "ports", Need: s.Peak.Ports, Limit: l.Ports, Setting: "net.ipv4.ip_local_port_range", Modes: []string{"host"},
			Remedy: ports},
		// One process has a file for each link, for each user whose packets are captured, and for both ends of each connection, unless a program has the far one. Ports are those of
		// the end that connects, and the host tracks a connection once. Neighbours are of both ends: who talks has the
		// other in the table, which all namespaces of a machine share.
		{What: "neighbours", Need: 2 * s.Peak.Neighbours, Limit: l.Neighbours, Setting: "net.ipv4.neigh.default.gc_thresh3",
			Modes: []string{"bridge", "macvlan", "ipvlan"}, Remedy: sysctl("net.ipv4.neigh.default.gc_thresh3", 2*s.Peak.Neighbours) +
				", and the same of net.ipv6"},
		{What: "conntrack", Need: s.Peak.Tracked, Limit: l.Tracked, Setting: "net.netfilter.nf_conntrack_max",
			Modes:  []string{"host", "bridge", "routed", "overlay"},
			Remedy: sysctl("net.netfilter.nf_conntrack_max", s.Peak.Tracked)},
		{What: "open files of a program", Need: s.mostServed(), Limit: l.FilesOfUser, Setting: "RLIMIT_NOFILE",
			Remedy: fmt.Sprintf("as root: ulimit -Hn %d, or nofile in /etc/security/limits.conf", roomFor(s.mostServed()))},
		{What: "bridge ports", Need: users, Limit: l.BridgePorts, Setting: "a bridge network", Modes: []string{"bridge"},
			Remedy: "leave out mode bridge"},
	}
	all = slices.DeleteFunc(all, func(n Need) bool { return n.Need == 0 && n.What == "open files of a program" })
	for i, n := range all {
		if n.Met() {
			all[i].Remedy = ""
		}
	}
	return all
}

// Memory is what kernel and program take at most, in bytes.
func (s Summary) Memory() int64 {
	return base + s.servedMemory() + int64(s.Users)*perUser + int64(s.Linked)*perLink + s.ends()*perSocket + s.Peak.Tracked*perTracked +
		s.Peak.Sessions*perSession
}

// ends is how many ends of connections there are at one time: two of each, if all of the crowd is on this machine.
func (s Summary) ends() int64 {
	if s.shared {
		return s.Peak.Connections + s.Peak.Answered
	}
	return 2 * s.Peak.Connections
}

// Idle is the crowd before anybody does anything: it has users, and nothing else.
func (p *Plan) Idle() Summary {
	s := newForecast(p.scenario, p.here).Summary
	for number := 1; number <= s.Users; number++ {
		if p.Link(number) != nil {
			s.Linked++
		}
	}
	return s
}

func sysctl(name string, need int64) string {
	return fmt.Sprintf("sysctl -w %s=%d", name, roomFor(need))
}

// roomFor is a power of two with a quarter to spare.
func roomFor(need int64) int64 {
	room := int64(1024)
	for room < need+need/4 {
		room *= 2
	}
	return room
}

// Refuse returns an error if a need that is not met concerns one of the modes.
func (s Summary) Refuse(needs []Need, modes []string) error {
	causes, remedies, otherModes := Lacking(needs, modes)
	if causes == nil {
		return nil
	}
	last := "give fewer --users"
	if otherModes {
		last += ", or other --modes"
	}
	return heddle.Errorf(heddle.CrowdTooLarge, "plan crowd", s.Crowd, strings.Join(causes, "; "), strings.Join(append(remedies, last), "; or "))
}

// Lacking lists why the machine does not bear needs that concern one of the modes, and what remedies that, beside fewer
// users; and whether other modes would.
func Lacking(needs []Need, modes []string) (causes, remedies []string, otherModes bool) {
	for _, n := range needs {
		if n.Met() || !n.Concerns(modes) {
			continue
		}
		where := ""
		if len(n.Modes) > 0 {
			others := func(mode string) bool { return !slices.Contains(modes, mode) }
			where = " in mode " + strings.Join(slices.DeleteFunc(slices.Clone(n.Modes), others), ", ")
			otherModes = true
		}
		need, limit := n.words()
		causes = append(causes, fmt.Sprintf("it needs %s%s, and %s allows %s", need, where, n.Setting, limit))
		if n.Remedy != fewer {
			remedies = append(remedies, n.Remedy)
		}
	}
	if len(remedies) > 0 {
		remedies = []string{strings.Join(remedies, "; ")}
	}
	return causes, remedies, otherModes
}

// words are the need with what it counts, and the limit.
func (n Need) words() (need, limit string) {
	switch n.What {
	case "memory":
		return FormatBytes(n.Need) + " of memory", FormatBytes(n.Limit)
	case "conntrack":
		return fmt.Sprintf("%d tracked connections", n.Need), fmt.Sprint(n.Limit)
	}
	return fmt.Sprintf("%d %s", n.Need, n.What), fmt.Sprint(n.Limit)
}

// FormatBytes writes a number of bytes with the unit that keeps it short.
func FormatBytes(bytes int64) string {
	if bytes < 1000 {
		return fmt.Sprintf("%d B", bytes)
	}
	size, units := float64(bytes)/1000, []string{"KB", "MB", "GB", "TB", "PB"}
	for size >= 999.95 && len(units) > 1 {
		size, units = size/1000, units[1:]
	}
	return fmt.Sprintf("%.1f %s", size, units[0])
}
