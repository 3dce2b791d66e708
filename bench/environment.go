package bench

import (
	"context"
	"fmt"
	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Environment is what the figures depend on besides the modes.
type Environment struct {
	Start  time.Time `json:"start"`
	Kernel string    `json:"kernel"`
	CPU    string    `json:"cpu"`
	Cores  int       `json:"cores"`
	// Load is the load average over 1, 5 and 15 minutes before the start.
	Load string `json:"loadBefore"`
	// BridgeNF is bridge-nf-call-iptables of the host. With 1, bridged packets pass iptables as
	// well.
	BridgeNF string            `json:"bridgeNfCallIptables"`
	Tools    map[string]string `json:"tools"`
	// Command is the command line.
	Command string `json:"command,omitempty"`
	// Governor is the governor of the first CPU, if the machine can change its frequency.
	Governor string `json:"cpuGovernor,omitempty"`
	// Paths are the devices through which the columns' packets leave.
	Paths map[string]Path `json:"paths,omitempty"`
	// Mitigations are the kernel's mitigations of CPU vulnerabilities, which cost time.
	// Clock is the clock source that the tools read.
	Mitigations map[string]string `json:"mitigations,omitempty"`
	Clock       string            `json:"clock,omitempty"`
	// Steal is the part of the machine's time that the hypervisor gave to others
	// during the measured windows, in per cent; 0 for a report of virtual machines, whose own is in
	// the cells.
	Steal float64 `json:"stealPercent"`
}

// noBridgeNF is the value if the module is not loaded.
const noBridgeNF = "no br_netfilter"

func readEnvironment(ctx context.Context, m Matrix) Environment {
	e := Environment{
		Start: time.Now().UTC(), Cores: runtime.NumCPU(), Tools: map[string]string{}, BridgeNF: noBridgeNF,
		Kernel: firstLine("/proc/sys/kernel/osrelease"), Load: loadAverage(firstLine("/proc/loadavg")), CPU: cpuModel(),
		Mitigations: mitigations(), Clock: firstLine("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
	}
	if m.BridgeNF != "" {
		e.BridgeNF = m.BridgeNF
	} else if v := firstLine("/proc/sys/net/bridge/bridge-nf-call-iptables"); v != "" {
		e.BridgeNF = v
	}
	for _, p := range m.Probes {
		for _, tool := range p.Tools() {
			if _, known := e.Tools[tool.Name]; !known {
				e.Tools[tool.Name] = toolVersion(ctx, tool.Name)
			}
		}
	}
	e.Command, e.Governor = heddle.CommandLine(os.Args), firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	e.Paths = readPaths(ctx, m)
	return e
}

// Busy reports whether more than a quarter of the machine was in use before the start, by the load
// average over one minute.
func (e Environment) Busy() bool {
	var load float64
	_, err := fmt.Sscan(e.Load, &load)
	return err == nil && load > float64(e.Cores)/4
}

// mitigations lists the entries that the kernel shows as "Mitigation: …".
func mitigations() map[string]string {
	const folder = "/sys/devices/system/cpu/vulnerabilities"
	all := map[string]string{}
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if what, ok := strings.CutPrefix(firstLine(filepath.Join(folder, e.Name())), "Mitigation: "); ok {
			all[e.Name()] = what
		}
	}
	return all
}

// meanSteal is the mean over all windows, in per cent of all cores' time.
func meanSteal(samples []Sample, cores int) float64 {
	steal, seconds := 0.0, 0.0
	for _, s := range samples {
		steal += s.CPU.Steal
		seconds += s.Seconds * float64(cores)
	}
	if seconds == 0 {
		return 0
	}
	return 100 * steal / seconds
}

func firstLine(path string) string {
	text, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}

func loadAverage(line string) string {
	f := strings.Fields(line)
	return strings.Join(f[:min(3, len(f))], " ")
}

func cpuModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

var versionWord = lazyregexp.New(`\d[\w.-]*`)

// versionOptions are the options of tools that do not know --version.
var versionOptions = map[string]string{"ping": "-V", "netperf": "-V", "netserver": "-V", "wrk": "-v", "nginx": "-v"}

// toolVersion returns the version that a tool prints.
func toolVersion(ctx context.Context, tool string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	option := versionOptions[tool]
	if option == "" {
		option = "--version"
	}
	out, _ := exec.CommandContext(ctx, tool, option).CombinedOutput()
	// iperf3 prints its own name first, which contains a digit.
	if v := versionWord.FindString(strings.Replace(plain(string(out)), "iperf3", "", 1)); v != "" {
		return v
	}
	return "unknown"
}
