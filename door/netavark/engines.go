package netavark

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// engines are the two processes above the plugin: netavark, which has started it, and Podman. Podman
// binds the ports that a container publishes before it has the container attached. No process above
// these counts: a service manager may hold ports for others. There are none if the process is no plugin,
// but one that got its ID since, or another program that calls the socket.
func engines(plugin int) (pids []int) {
	if !isPlugin(plugin) {
		return nil
	}
	for pid := plugin; len(pids) < 2; {
		if pid = parentOf(pid); pid <= 1 {
			break
		}
		pids = append(pids, pid)
	}
	return pids
}

// isPlugin reports whether a process executes the plugin, under one of its two names.
func isPlugin(pid int) bool {
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	name := filepath.Base(strings.TrimSuffix(path, " (deleted)")) // by an update
	return name == "heddle-cni" || name == "heddle"
}

// parentOf is the parent of a process, 0 if it is not known (proc_pid_stat(5), field 4). The
// command's name before it is in parentheses, and may have some itself.
func parentOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil || pid < 1 {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}
