package kernel

import (
	"fmt"
	"strconv"
	"strings"
)

// baseSpec is the position of a base chain in the packet flow, as its text states it, such as "type
// filter hook forward priority filter - 10; policy accept;".
type baseSpec struct {
	kind     string
	hook     int
	priority int32
	policy   uint32
}

// The hooks, and the names that nft(8) gives to priorities. The bridge family has other numbers.
var (
	hooks            = map[string]int{"prerouting": 0, "input": 1, "forward": 2, "output": 3, "postrouting": 4}
	priorities       = map[string]int32{"raw": -300, "mangle": -150, "dstnat": -100, "filter": 0, "security": 50, "srcnat": 100}
	bridgePriorities = map[string]int32{"dstnat": -300, "filter": -200, "out": 100, "srcnat": 300}
)

// parseBaseSpec reads the text of a base chain. The hook of a regular chain is -1.
func parseBaseSpec(family, spec string) (baseSpec, error) {
	b := baseSpec{hook: -1, policy: 1}
	words := strings.Fields(strings.ReplaceAll(spec, ";", " ; "))
	for i := 0; i+1 < len(words); i++ {
		next := words[i+1]
		switch words[i] {
		case "type":
			b.kind = next
		case "hook":
			hook, known := hooks[next]
			if !known {
				return b, fmt.Errorf("unknown hook %q", next)
			}
			b.hook = hook
		case "priority":
			p, err := parsePriority(family, words[i+1:])
			if err != nil {
				return b, err
			}
			b.priority = p
		case "policy":
			if next == "drop" {
				b.policy = 0
			}
		}
	}
	return b, nil
}

// parsePriority reads "-300", "raw" or "raw - 5" up to the semicolon.
func parsePriority(family string, words []string) (int32, error) {
	names := priorities
	if family == "bridge" {
		names = bridgePriorities
	}
	var sum int32
	sign := int32(1)
	for _, w := range words {
		switch n, known := names[w]; {
		case w == ";":
			return sum, nil
		case w == "-":
			sign = -1
		case w == "+":
			sign = 1
		case known:
			sum += n
		default:
			n, err := strconv.ParseInt(w, 10, 32)
			if err != nil {
				return 0, fmt.Errorf("unknown priority %q", w)
			}
			sum += sign * int32(n)
		}
	}
	return sum, nil
}
