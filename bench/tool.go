package bench

import (
	"fmt"
	"os/exec"

	"github.com/heddle-network/heddle"
)

// Tool is a program that a probe needs, and the Debian package that has it.
type Tool struct{ Name, Package string }

var (
	toolTaskset   = Tool{"taskset", "util-linux"}
	toolSockperf  = Tool{"sockperf", "sockperf"}
	toolIperf3    = Tool{"iperf3", "iperf3"}
	toolPing      = Tool{"ping", "iputils-ping"}
	toolQperf     = Tool{"qperf", "qperf"}
	toolWrk       = Tool{"wrk", "wrk"}
	toolNginx     = Tool{"nginx", "nginx-light"}
	toolRedis     = Tool{"redis-server", "redis-server"}
	toolRedisLoad = Tool{"redis-benchmark", "redis-tools"}
	// netperf's licence was not free until 2020; Debian has it in non-free.
	toolNetperf   = Tool{"netperf", "netperf, in non-free"}
	toolNetserver = Tool{"netserver", "netperf, in non-free"}
)

// CheckTools returns an error if a tool of the probes is absent.
func CheckTools(probes []Probe) error {
	if err := missing(toolTaskset); err != nil {
		return err
	}
	for _, p := range probes {
		if err := missing(p.Tools()...); err != nil {
			return err
		}
	}
	return nil
}

// missing names the first absent tool.
func missing(tools ...Tool) error {
	for _, tool := range tools {
		if _, err := exec.LookPath(tool.Name); err != nil {
			return heddle.Wrap(heddle.NoTool, "find tool", tool.Name, err, "install it (Debian: "+tool.Package+")")
		}
	}
	return nil
}

// Present returns the probes whose tools are on this machine, or their replacements. For each of
// the others it returns a line that names the tool and its package.
func Present(probes []Probe) (have []Probe, leftOut []string) {
	for _, p := range probes {
		absent := absentTool(p)
		if absent == "" {
			have = append(have, p)
			continue
		}
		if n, ok := p.(Netperf); ok && n.Else != nil && absentTool(n.Else) == "" {
			have = append(have, n.Else)
			absent += "; " + n.Else.Name() + " is run instead"
		}
		leftOut = append(leftOut, absent)
	}
	return have, leftOut
}

// absentTool names the first tool of the probe that is absent.
func absentTool(p Probe) string {
	for _, tool := range p.Tools() {
		if _, err := exec.LookPath(tool.Name); err != nil {
			return fmt.Sprintf("%s: no %s here (Debian: %s)", p.Name(), tool.Name, tool.Package)
		}
	}
	return ""
}
