package fleet_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// mark is between the outputs of two commands.
const mark = "----"

// lists are the commands that state reads: few programs, as it is asked for hundreds of times.
var lists = strings.Join([]string{
	"ip -4 route show table all proto 104", "ip -6 route show table all proto 104", "ip -o link show", "bridge fdb show",
	"nft list sets inet",
}, "\necho "+mark+"\n")

var (
	ourLink  = regexp.MustCompile(`: h[bdsvmic][0-9a-f]*`)
	onTunnel = regexp.MustCompile(`\bdev hv[0-9a-f]*`)
	ourSet   = regexp.MustCompile(`(?s)set (peers4|origins4[46]|strays4[46]) \{.*?\n\t\}`)
)

// state is what a host has of ours that leads somewhere: what no record of another's may
// change.
func state(h *host) (string, error) {
	out, err := h.TrySh("%s", lists)
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	parts := strings.Split(out, mark+"\n")
	if len(parts) != 5 {
		return "", fmt.Errorf("%d lists: %s", len(parts), out)
	}
	sets := ourSet.FindAllString(parts[4], -1)
	if len(sets) != 5 {
		return "", fmt.Errorf("%d sets: %s", len(sets), parts[4])
	}
	links := ourLink.FindAllString(parts[2], -1)
	tunnels := slices.DeleteFunc(strings.Split(parts[3], "\n"), func(line string) bool {
		return !onTunnel.MatchString(line) || strings.Contains(line, "dst 172.31.240.13")
	})
	return sorted(strings.Split(parts[0], "\n")) + sorted(strings.Split(parts[1], "\n")) + sorted(links) + sorted(tunnels) +
		strings.Join(strings.Fields(strings.Join(sets, " ")), ""), nil
}

// sorted are lines in an order that does not depend on the kernel.
func sorted(lines []string) string {
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}
