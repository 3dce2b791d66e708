package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// minMemory is one and a half times what the agent may use with a thousand endpoints.
const minMemory = 96 << 20

func lookAgentMemory(_ context.Context, h *Host) Finding {
	text, err := h.proc("cgroup")
	if err != nil {
		return skip(err.Error())
	}
	group := strings.TrimPrefix(lineWith(text, "0::"), "0::")
	if group == "" {
		return skip("the agent is in no cgroup of version 2")
	}
	for ; group != "/" && group != "."; group = filepath.Dir(group) {
		file := filepath.Join("/sys/fs/cgroup", group, "memory.max")
		b, err := os.ReadFile(file)
		limit, number := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
		if err == nil && number == nil && limit < minMemory {
			current, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "memory.current"))
			return trouble([]string{file + ": " + strings.TrimSpace(string(b)), "memory.current: " + strings.TrimSpace(string(current))})
		}
	}
	return fine("no memory.max below " + fmt.Sprint(minMemory>>20) + " MiB")
}

func lookAgentSettings(_ context.Context, h *Host) Finding {
	text, err := h.proc("mountinfo")
	if err != nil {
		return skip(err.Error())
	}
	// Of several mounts on one path the last one counts. A mount below /proc/sys counts if it
	// holds network settings.
	last := map[string]string{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) > 5 && (f[4] == "/proc" || f[4] == "/proc/sys" || strings.HasPrefix(f[4], "/proc/sys/net")) {
			last[f[4]] = strings.TrimSpace(line)
		}
	}
	var evidence []string
	for _, line := range last {
		for option := range strings.SplitSeq(strings.Fields(line)[5], ",") {
			if option == "ro" {
				evidence = append(evidence, "mountinfo of the agent: "+line)
			}
		}
	}
	return trouble(evidence)
}

func lookAgentNetns(_ context.Context, h *Host) Finding {
	pid, err := h.Agent()
	if err != nil {
		return skip(err.Error())
	}
	var evidence []string
	all, _ := filepath.Glob("/run/netns/*")
	for _, path := range all {
		here, there := netnsInode(path), netnsInode(fmt.Sprintf("/proc/%d/root%s", pid, path))
		if here != "" && here != there {
			evidence = append(evidence, fmt.Sprintf("%s: %s here, %q in the agent's /run", path, here, there))
		}
	}
	if len(evidence) > 3 {
		evidence = append(evidence[:3], fmt.Sprintf("and %d more", len(evidence)-3))
	}
	return trouble(evidence)
}

// netnsInode identifies the network namespace at a path; "" if there is none.
func netnsInode(path string) string {
	var fs unix.Statfs_t
	var st unix.Stat_t
	if unix.Statfs(path, &fs) != nil || fs.Type != unix.NSFS_MAGIC || unix.Stat(path, &st) != nil {
		return ""
	}
	return fmt.Sprintf("net:[%d]", st.Ino)
}
