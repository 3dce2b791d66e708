package doctor

import (
	"context"
	"strings"

	"github.com/heddle-network/heddle"
)

func settingChecks() []Check {
	return append([]Check{
		{ID: "ip-forward", Title: "The host forwards IPv4", Wrong: "The host does not forward IPv4", Severity: Fail, Looks: "/proc/sys/net/ipv4/ip_forward, where a network has IPv4",
			Why: "Containers reach nothing beyond their own bridge. The agent puts it back within seconds; if it is off, somebody keeps turning it off, or the agent is down.", Remedy: "sysctl -w net.ipv4.ip_forward=1",
			look: lookForwarding(forward4, heddle.IPv4), fix: fixSetting(forward4, "1")},
		{ID: "ip6-forward", Title: "The host forwards IPv6", Wrong: "The host does not forward IPv6", Severity: Fail, Looks: "/proc/sys/net/ipv6/conf/all/forwarding, where a network has IPv6",
			Why: "Containers reach nothing beyond their own bridge by IPv6.", Remedy: "sysctl -w net.ipv6.conf.all.forwarding=1",
			look: lookForwarding(forward6, heddle.IPv6), fix: fixSetting(forward6, "1")},
		{ID: "setting-files", Title: "No file turns forwarding off", Wrong: "A file turns forwarding off", Severity: Warn, Looks: "/etc/sysctl.d, /run/sysctl.d, /usr/local/lib/sysctl.d, /usr/lib/sysctl.d, /etc/sysctl.conf, where a network has the family",
			Why: "At the next boot, or the next 'sysctl --system', containers are cut off until the agent looks.", Remedy: "remove the line from FILE", look: lookSettingFiles},
		{ID: "disable-ipv6", Title: "IPv6 is on where networks need it", Wrong: "IPv6 is off where networks need it", Severity: Fail, Looks: "/proc/sys/net/ipv6/conf/{all,BRIDGE}/disable_ipv6, where a network has IPv6",
			Why: "The bridges have no IPv6 gateway address.", Remedy: "sysctl -w net.ipv6.conf.all.disable_ipv6=0", look: lookEach(disabledIPv6, "0"), fix: fixEach(disabledIPv6, "0")},
		{ID: "rp-filter", Title: "Replies may leave by another interface", Wrong: "Replies that leave by another interface are dropped", Severity: Warn, Looks: "/proc/sys/net/ipv4/conf/{all,IF}/rp_filter of the parents of networks with a routing table of their own, and of a second uplink",
			Why: "A strict filter (1) drops packets whose way back leads through another interface: a second NIC's traffic arrives and is lost.", Remedy: "sysctl -w net.ipv4.conf.IF.rp_filter=2", look: lookEach(strictFilters, "2"), fix: fixEach(strictFilters, "2")},
		{ID: "route-localnet", Title: "127.0.0.0/8 is not routed from the wire", Wrong: "127.0.0.0/8 is routed from the wire", Severity: Warn, Looks: "/proc/sys/net/ipv4/conf/{all,UPLINK}/route_localnet",
			Why: "A neighbour on the wire could reach what listens on the host's loopback only. heddle sets it on its own devices, behind a guard.", Remedy: "sysctl -w net.ipv4.conf.all.route_localnet=0", look: lookEach(routedLoopback, "0"), fix: fixEach(routedLoopback, "0")},
		{ID: "accept-ra", Title: "An uplink keeps its default route from router advertisements", Wrong: "An uplink loses its default route from router advertisements", Severity: Fail, Looks: "/proc/sys/net/ipv6/conf/UPLINK/{accept_ra,forwarding} of interfaces with a route of protocol ra",
			Why: "A forwarding host with accept_ra 1 does not listen, and its IPv6 default route expires.", Remedy: "sysctl -w net.ipv6.conf.UPLINK.accept_ra=2", look: lookAcceptRA},
		{ID: "arp-ignore", Title: "Bridges answer ARP", Wrong: "Bridges do not answer ARP", Severity: Fail, Looks: "/proc/sys/net/ipv4/conf/{all,BRIDGE}/arp_ignore",
			Why: "With 8 the host answers no request at all: containers do not find their gateway.", Remedy: "sysctl -w net.ipv4.conf.all.arp_ignore=0", look: lookEach(silentARP, "0"), fix: fixEach(silentARP, "0")},
		{ID: "bridge-nf", Title: "Bridged frames do not pass the IP firewall too", Wrong: "Bridged frames pass the IP firewall too", Severity: Note, Looks: "/proc/sys/net/bridge/bridge-nf-call-{iptables,ip6tables,arptables}",
			Why: "Each packet between two containers of a bridge passes all IP chains of the host as well, which costs a fifth of the throughput, and foreign rules apply to it. Docker and Kubernetes want it on.", Remedy: "sysctl -w net.bridge.bridge-nf-call-iptables=0", look: lookBridgeNF},
	}, tableChecks()...)
}

func fixSetting(name, value string) func(context.Context, *Host) ([]string, error) {
	return func(context.Context, *Host) ([]string, error) { return writeSetting(name, value) }
}

func lookForwarding(name string, f heddle.Family) func(context.Context, *Host) Finding {
	return func(ctx context.Context, h *Host) Finding {
		networks, err := h.forwarded(ctx)
		switch {
		case err != nil:
			return unknown(err)
		case anyHasFamily(networks, f) && setting(name) != "1":
			return trouble([]string{settingLine(name)})
		}
		return fine(settingLine(name))
	}
}

func lookSettingFiles(ctx context.Context, h *Host) Finding {
	networks, err := h.forwarded(ctx)
	if err != nil {
		return unknown(err)
	}
	off := map[string]bool{}
	if anyHasFamily(networks, heddle.IPv4) {
		off["net.ipv4.ip_forward=0"], off["net.ipv4.conf.all.forwarding=0"] = true, true
	}
	if anyHasFamily(networks, heddle.IPv6) {
		off["net.ipv6.conf.all.forwarding=0"], off["net.ipv6.conf.all.disable_ipv6=1"] = true, true
	}
	var evidence []string
	for _, l := range configLines("/etc/sysctl.d/*.conf", "/run/sysctl.d/*.conf", "/usr/local/lib/sysctl.d/*.conf", "/usr/lib/sysctl.d/*.conf", "/etc/sysctl.conf") {
		plain := strings.ReplaceAll(strings.Join(strings.Fields(strings.TrimPrefix(l.text, "-")), ""), "/", ".")
		if off[plain] {
			evidence = append(evidence, l.String())
		}
	}
	return trouble(evidence)
}

// lookEach reports settings with a wrong value. names lists them.
func lookEach(names func(context.Context, *Host) ([]string, error), right string) func(context.Context, *Host) Finding {
	return func(ctx context.Context, h *Host) Finding {
		all, err := names(ctx, h)
		if err != nil {
			return unknown(err)
		}
		var evidence, remedy []string
		for _, name := range all {
			evidence, remedy = append(evidence, settingLine(name)), append(remedy, "sysctl -w "+name+"="+right)
		}
		return trouble(evidence, remedy...)
	}
}

// fixEach gives these settings the right value.
func fixEach(names func(context.Context, *Host) ([]string, error), right string) func(context.Context, *Host) ([]string, error) {
	return func(ctx context.Context, h *Host) (done []string, err error) {
		all, err := names(ctx, h)
		for _, name := range all {
			one, err := writeSetting(name, right)
			if done = append(done, one...); err != nil {
				return done, err
			}
		}
		return done, err
	}
}

// withValue returns the settings that have the value.
func withValue(value string, names ...string) (some []string) {
	for _, name := range names {
		if setting(name) == value {
			some = append(some, name)
		}
	}
	return some
}

func disabledIPv6(ctx context.Context, h *Host) (names []string, err error) {
	networks, err := h.forwarded(ctx)
	if !anyHasFamily(networks, heddle.IPv6) {
		return nil, err
	}
	names = []string{"net/ipv6/conf/all/disable_ipv6"}
	for _, n := range networks {
		if n.HasFamily(heddle.IPv6) {
			names = append(names, "net/ipv6/conf/"+n.BridgeName(0)+"/disable_ipv6")
		}
	}
	return withValue("1", names...), err
}

// strictFilters lists the rp_filter settings that are strict and must not be.
func strictFilters(ctx context.Context, h *Host) (names []string, err error) {
	networks, err := h.Networks(ctx)
	if err != nil {
		return nil, err
	}
	facts, err := h.Facts()
	if err != nil {
		return nil, err
	}
	watched := map[string]bool{}
	for _, n := range networks {
		watched[n.Parent] = n.Options["table"] != "" || watched[n.Parent]
	}
	uplinks := 0
	for _, l := range facts.Links {
		if len(l.Gateways) > 0 {
			uplinks++
			watched[l.Name] = uplinks > 1 || watched[l.Name]
		}
	}
	for _, l := range facts.Links {
		// the larger value counts: loose (2) wins over strict (1)
		name := "net/ipv4/conf/" + l.Name + "/rp_filter"
		if watched[l.Name] && max(setting("net/ipv4/conf/all/rp_filter"), setting(name)) == "1" {
			names = append(names, name)
		}
	}
	return names, nil
}

func routedLoopback(_ context.Context, h *Host) ([]string, error) {
	facts, err := h.Facts()
	names := []string{"net/ipv4/conf/all/route_localnet"}
	for _, l := range facts.Links {
		if len(l.Gateways) > 0 {
			names = append(names, "net/ipv4/conf/"+l.Name+"/route_localnet")
		}
	}
	return withValue("1", names...), err
}

func silentARP(ctx context.Context, h *Host) ([]string, error) {
	networks, err := h.forwarded(ctx)
	if !anyHasFamily(networks, heddle.IPv4) {
		return nil, err
	}
	names := []string{"net/ipv4/conf/all/arp_ignore"}
	for _, n := range networks {
		names = append(names, "net/ipv4/conf/"+n.BridgeName(0)+"/arp_ignore")
	}
	return withValue("8", names...), err
}

func lookAcceptRA(_ context.Context, h *Host) Finding {
	facts, err := h.Facts()
	if err != nil {
		return unknown(err)
	}
	var evidence, remedy []string
	for _, l := range facts.Links {
		conf := "net/ipv6/conf/" + l.Name + "/"
		if l.Advertised && setting(conf+"forwarding") == "1" && setting(conf+"accept_ra") != "2" {
			evidence = append(evidence, settingLine(conf+"accept_ra"), settingLine(conf+"forwarding"))
			remedy = append(remedy, "sysctl -w "+conf+"accept_ra=2")
		}
	}
	return trouble(evidence, remedy...)
}

func lookBridgeNF(context.Context, *Host) Finding {
	var evidence []string
	for _, name := range withValue("1", "net/bridge/bridge-nf-call-iptables", "net/bridge/bridge-nf-call-ip6tables", "net/bridge/bridge-nf-call-arptables") {
		evidence = append(evidence, settingLine(name))
	}
	return trouble(evidence)
}
