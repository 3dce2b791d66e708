package doctor

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/trial"
)

func kernelChecks() []Check {
	return []Check{
		{ID: "nft-program", Title: "nft(8) can be started", Wrong: "nft(8) cannot be started", Severity: Fail, Looks: "nft -v, by PATH",
			Why:    "The static part of the firewall is written by nft; without it no network can be made.",
			Remedy: "apt-get install nftables", look: lookProgram("nft", "-v")},
		{ID: "ip-program", Title: "ip(8) can be started", Wrong: "ip(8) cannot be started", Severity: Warn, Looks: "ip -V, by PATH",
			Why:    "The doctor reads interfaces and routes with it, and the commands that heddle prints are its.",
			Remedy: "apt-get install iproute2", look: lookProgram("ip", "-V")},
		{ID: "nft-inet", Title: "nf_tables takes heddle's sets, maps and filter chains", Wrong: "nf_tables does not take heddle's sets, maps and filter chains", Severity: Fail,
			Looks: "the table inet heddle without its NAT chains, made in a throw-away namespace",
			Why:   "Isolation and the guard against forged senders stand on it.", Remedy: "modprobe -a nf_tables nft_fib_inet nft_ct",
			look: lookTable("inet", func(f heddle.Firewall) bool { return !slices.Contains(natChains, f.Name) })},
		{ID: "nft-nat", Title: "nf_tables translates addresses", Wrong: "nf_tables does not translate addresses", Severity: Fail,
			Looks: "the table inet heddle with its NAT chains, made in a throw-away namespace",
			Why:   "Masquerading and published ports stand on it.", Remedy: "modprobe -a nft_chain_nat nft_nat nft_masq nft_fib_inet",
			look: lookTable("inet", func(heddle.Firewall) bool { return true })},
		{ID: "nft-bridge", Title: "nf_tables sees bridged frames", Wrong: "nf_tables does not see bridged frames", Severity: Fail,
			Looks: "the table bridge heddle, made in a throw-away namespace",
			Why:   "On bridge networks it keeps containers from forging MAC addresses, ARP and neighbour messages.", Remedy: "modprobe -a nf_tables nft_meta_bridge",
			look: lookTable("bridge", func(heddle.Firewall) bool { return true })},
		{ID: "nft-log", Title: "nf_tables tells the agent what policies refuse", Wrong: "nf_tables does not tell the agent what policies refuse", Severity: Warn,
			Looks: "the sets and chains for refused packets, made in a throw-away namespace",
			Why:   "'heddle flows' has nothing to show then. Policies are enforced all the same.", Remedy: "modprobe -a nft_log nfnetlink_log",
			look: lookPacketLog},
		{ID: "legacy-program", Title: "Legacy iptables in use can be read", Wrong: "Legacy iptables are in use and cannot be read", Severity: Warn,
			Looks: "/proc/net/ip_tables_names and ip6_tables_names; iptables-legacy and ip6tables-legacy by PATH",
			Why:   "Rules in the legacy tables are invisible to nft. Where they drop what is forwarded, the agent needs the program to let its own traffic pass.", Remedy: "apt-get install iptables",
			look: lookLegacyProgram},
		{ID: "modules-locked", Title: "The kernel may load modules", Wrong: "The kernel may not load modules", Severity: Note, Looks: "/proc/sys/kernel/modules_disabled",
			Why:    "What is not loaded now will not come until the next boot; the checks mode-… say what works.",
			Remedy: "load bridge, veth, nf_tables and nft_chain_nat before modules are locked, with a file in /etc/modules-load.d",
			look: func(context.Context, *Host) Finding {
				if setting("kernel/modules_disabled") == "1" {
					return trouble([]string{settingLine("kernel/modules_disabled")})
				}
				return fine(settingLine("kernel/modules_disabled"))
			}},
		{ID: "congestion", Title: "New containers do not inherit a pacing congestion control", Wrong: "New containers inherit a pacing congestion control", Severity: Note, Looks: "/proc/sys/net/ipv4/tcp_congestion_control",
			Why:    "A new namespace takes the host's congestion control. BBR paces its packets: throughput between containers is lower than with cubic and says little about the network. Measurements should name it.",
			Remedy: "sysctl -w net.ipv4.tcp_congestion_control=cubic", look: lookCongestion},
	}
}

var natChains = []string{"publish", "dstnat", "output", "postrouting"}

func lookProgram(name string, args ...string) func(context.Context, *Host) Finding {
	return func(ctx context.Context, _ *Host) Finding {
		text, err := show(ctx, append([]string{name}, args...)...)
		if err != nil {
			return trouble([]string{err.Error(), "PATH=" + os.Getenv("PATH")})
		}
		return fine(strings.TrimSpace(text))
	}
}

func lookTable(family string, keep func(heddle.Firewall) bool) func(context.Context, *Host) Finding {
	return func(context.Context, *Host) Finding {
		stage, err := kernel.NewStage()
		if err != nil {
			return trouble([]string{err.Error()})
		}
		defer stage.Close()
		var some []heddle.Firewall
		for _, f := range firewall.Base() {
			if f.Family == family && keep(f) {
				some = append(some, f)
			}
		}
		if err := stage.Try(heddle.Plan{Host: heddle.State{Firewall: some}}); err != nil {
			return trouble([]string{err.Error()})
		}
		return fine("made, compared, removed")
	}
}

func lookPacketLog(context.Context, *Host) Finding {
	if err := trial.PacketLog(); err != nil {
		return trouble([]string{err.Error()})
	}
	return fine("made, compared, removed")
}

func lookLegacyProgram(_ context.Context, h *Host) Finding {
	var evidence []string
	for _, f := range legacyFamilies {
		names := f.tables()
		if _, err := exec.LookPath(f.program); err != nil && len(names) > 0 {
			evidence = append(evidence, f.names+": "+strings.Join(names, " "), err.Error())
		}
	}
	return trouble(evidence)
}

func lookCongestion(context.Context, *Host) Finding {
	if control := setting("net/ipv4/tcp_congestion_control"); strings.HasPrefix(control, "bbr") {
		return trouble([]string{settingLine("net/ipv4/tcp_congestion_control")})
	}
	return fine(settingLine("net/ipv4/tcp_congestion_control"))
}
