package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
)

// netnsDir is where ip-netns(8) keeps named network namespaces.
const netnsDir = "/run/netns"

var procPath = lazyregexp.New(`^/proc/([0-9]+)/ns/net$`)

// findNetns returns the path of the namespace that --netns or --pid names. The
// path is absolute: the agent works in another folder.
func findNetns(netns string, pid int) (string, error) {
	switch {
	case netns != "" && pid != 0:
		return "", heddle.Errorf(heddle.BadArgument, "find network namespace", netns, "--netns and --pid are both given",
			"give one of them")
	case pid < 0:
		return "", heddle.Errorf(heddle.BadNamespace, "read flag", "--pid",
			fmt.Sprintf("%d is not the number of a process", pid), "give the number of a process in the container")
	case pid != 0:
		return fmt.Sprintf("/proc/%d/ns/net", pid), nil
	case netns == "":
		return "", nil
	case !strings.Contains(netns, "/"):
		return filepath.Join(netnsDir, netns), nil
	}
	path, err := filepath.Abs(netns)
	if err != nil {
		return "", heddle.Wrap(heddle.BadNamespace, "find network namespace", netns, err, "give an absolute path")
	}
	return path, nil
}

// defaultContainerID derives a container's id from its namespace: the name, or the
// process in it.
func defaultContainerID(path string) string {
	if m := procPath.FindStringSubmatch(path); m != nil {
		return "pid-" + m[1]
	}
	return filepath.Base(path)
}

// netnsNames lists the named network namespaces.
func netnsNames() []string {
	entries, _ := os.ReadDir(netnsDir) // none is fine
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
