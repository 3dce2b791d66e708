package bench

import (
	"fmt"
	"strings"

	"github.com/heddle-network/heddle"
)

// setting is a setting with its values in two runs.
type setting struct{ what, a, b string }

func methodSettings(a, b *Report) []setting {
	return []setting{
		{"virtual machines", a.Method.Machine, b.Method.Machine},
		{"placement", a.Method.Placement, b.Method.Placement},
		{"congestion control", a.Method.CongestionControl, b.Method.CongestionControl},
		{"offered load", fmt.Sprint(a.Method.Load), fmt.Sprint(b.Method.Load)},
		{"bridge-nf-call-iptables", a.Environment.BridgeNF, b.Environment.BridgeNF},
	}
}

func machineSettings(a, b *Report) []setting {
	all := []setting{
		{"duration", fmt.Sprint(a.Method.Seconds), fmt.Sprint(b.Method.Seconds)},
		{"kernel", a.Environment.Kernel, b.Environment.Kernel},
		{"CPU", a.Environment.CPU, b.Environment.CPU},
		{"cores", fmt.Sprint(a.Environment.Cores), fmt.Sprint(b.Environment.Cores)},
	}
	for _, tool := range sortedKeys(b.Environment.Tools) {
		if x := a.Environment.Tools[tool]; x != "" {
			all = append(all, setting{tool, x, b.Environment.Tools[tool]})
		}
	}
	return all
}

func differ(settings []setting) []string {
	var all []string
	for _, x := range settings {
		if x.a != x.b {
			all = append(all, fmt.Sprintf("%s: %s, then %s", x.what, x.a, x.b))
		}
	}
	return all
}

func differences(a, b *Report) []string {
	return append(differ(methodSettings(a, b)), differ(machineSettings(a, b))...)
}

// Comparable refuses two reports whose figures were measured in different ways: their
// ratios would mean nothing.
func Comparable(a, b *Report) error {
	if all := differ(methodSettings(a, b)); all != nil {
		return heddle.Errorf(heddle.BadArgument, "compare reports", "", "they were made in different ways: "+strings.Join(all, "; "),
			"measure both in one way, or give --anyway")
	}
	return nil
}
