package main

import (
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/mode/parts"
)

// machineLimits are those of this machine.
func machineLimits() plan.Limits {
	l := kernelLimits(os.DirFS("/proc"))
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil && files.Max < 1<<62 {
		l.FilesOfUser = int64(files.Max)
	}
	return l
}

// kernelLimits are those that /proc has; what it does not have is 0. A control group may have less memory than
// MemAvailable says.
func kernelLimits(proc fs.FS) plan.Limits {
	return plan.Limits{
		Memory:      1024 * procField(proc, "meminfo", "MemAvailable:"),
		Files:       procField(proc, "sys/fs/nr_open", ""),
		Ports:       portsOf(proc),
		Neighbours:  procField(proc, "sys/net/ipv4/neigh/default/gc_thresh3", ""),
		Tracked:     procField(proc, "sys/net/netfilter/nf_conntrack_max", ""),
		BridgePorts: parts.BridgePorts,
	}
}

// procField is the number after a word of a file, or its first number; 0 if there is none.
func procField(proc fs.FS, file, word string) int64 {
	text, _ := fs.ReadFile(proc, file)
	_, after, _ := strings.Cut(string(text), word)
	if fields := strings.Fields(after); len(fields) > 0 {
		n, _ := strconv.ParseInt(fields[0], 10, 64)
		return n
	}
	return 0
}

// portsOf is how many ports the kernel gives to sockets of one address.
func portsOf(proc fs.FS) int64 {
	text, _ := fs.ReadFile(proc, "sys/net/ipv4/ip_local_port_range")
	fields := strings.Fields(string(text))
	if len(fields) != 2 {
		return 0
	}
	low, err1 := strconv.ParseInt(fields[0], 10, 64)
	high, err2 := strconv.ParseInt(fields[1], 10, 64)
	if err1 != nil || err2 != nil || high < low {
		return 0
	}
	return high - low + 1
}

// raiseFileLimit lets this process have as many open files as it may: each user needs one for its namespace and one for
// its link, and each connection two. A process that may not raise the limit keeps it.
func raiseFileLimit() {
	most := uint64(procField(os.DirFS("/proc"), "sys/fs/nr_open", ""))
	var now unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &now) == nil && now.Max < most {
		unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: most, Max: most})
	}
}
