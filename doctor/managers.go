package doctor

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

func managerChecks() []Check {
	return []Check{
		{ID: "networkd-routes", Title: "systemd-networkd leaves our routes alone", Wrong: "systemd-networkd may remove our routes", Severity: Warn, Looks: "a running systemd-networkd; ManageForeignRoutes and ManageForeignRoutingPolicyRules in networkd.conf and networkd.conf.d",
			Why: "At its start, and whenever a link of its own changes, it removes routes and rules that it did not make.", Remedy: "write ManageForeignRoutes=no and ManageForeignRoutingPolicyRules=no under [Network] in " + networkdConf + ", then systemctl restart systemd-networkd",
			look: lookNetworkdRoutes, fix: fixFile(networkdConf, "[Network]\nManageForeignRoutes=no\nManageForeignRoutingPolicyRules=no\n")},
		{ID: "networkd-links", Title: "systemd-networkd does not configure our links", Wrong: "systemd-networkd configures our links", Severity: Warn, Looks: "a running systemd-networkd; the [Match] sections of *.network files",
			Why: "It would give bridges and ports addresses, DHCP and settings of its own.", Remedy: "write [Match] Name=hb* hc* hd* hi* hm* hs* hv* and [Link] Unmanaged=yes to " + networkdUnmanaged + ", then networkctl reload",
			look: lookNetworkdLinks, fix: fixFile(networkdUnmanaged, "[Match]\nName=hb* hc* hd* hi* hm* hs* hv*\n\n[Link]\nUnmanaged=yes\n")},
		{ID: "networkmanager", Title: "NetworkManager does not configure our links", Wrong: "NetworkManager configures our links", Severity: Warn, Looks: "a running NetworkManager; unmanaged-devices in NetworkManager.conf and conf.d",
			Why: "It may start DHCP on bridges and ports, and take their addresses away.", Remedy: "write unmanaged-devices=interface-name:hb*;interface-name:hc*;interface-name:hd*;interface-name:hi*;interface-name:hm*;interface-name:hs*;interface-name:hv* under [keyfile] in " + nmConf + ", then nmcli general reload",
			look: lookNetworkManager, fix: fixFile(nmConf, "[keyfile]\nunmanaged-devices+=interface-name:hb*;interface-name:hc*;interface-name:hd*;interface-name:hi*;interface-name:hm*;interface-name:hs*;interface-name:hv*\n")},
		{ID: "dhcpcd", Title: "dhcpcd does not configure our links", Wrong: "dhcpcd configures our links", Severity: Warn, Looks: "a running dhcpcd; denyinterfaces and allowinterfaces in /etc/dhcpcd.conf",
			Why: "It asks for an address on every new interface, and gives it one from 169.254.0.0/16 with a route when nobody answers.", Remedy: "echo 'denyinterfaces hb* hc* hd* hi* hm* hs* hv*' >>/etc/dhcpcd.conf, then dhcpcd -n", look: lookDhcpcd},
		{ID: "ifupdown", Title: "ifupdown does not configure our links", Wrong: "ifupdown configures our links", Severity: Warn, Looks: "auto, allow-hotplug and iface lines in /etc/network/interfaces and interfaces.d",
			Why: "ifup gives the interface addresses, or waits for DHCP on it.", Remedy: "remove the line from FILE", look: lookIfupdown},
		{ID: "ufw", Title: "ufw does not drop what is forwarded", Wrong: "ufw drops what is forwarded", Severity: Note, Looks: "ENABLED in /etc/ufw/ufw.conf, DEFAULT_FORWARD_POLICY in /etc/default/ufw",
			Why: "heddle's accept rules stand in front of the drop that ends ufw's chain, and are put back after 'ufw reload'. What ufw drops by name holds for containers, too; only what is left over passes.", Remedy: "nothing to do; 'heddle network create --internal' keeps a network from the outside", look: lookUfw},
		{ID: "firewalld", Title: "firewalld does not run", Wrong: "firewalld runs", Severity: Note, Looks: "a running firewalld",
			Why: "heddle's accept rules stand in front of the rejects that end its chains, and are put back after a reload. What it drops by name holds for containers, too; only what is left over passes.", Remedy: "nothing to do", look: lookRunning("firewalld")},
		{ID: "dockerd", Title: "dockerd does not run", Wrong: "dockerd runs", Severity: Note, Looks: "a running dockerd",
			Why: "It sets the policy of the forward chain to drop; heddle's accept rules stand at the chain's end. What DOCKER-USER drops by name holds for containers of heddle's networks, too.", Remedy: "nothing to do", look: lookRunning("dockerd")},
		{ID: "nftables-service", Title: "No service flushes the whole ruleset", Wrong: "A service flushes the whole ruleset", Severity: Note, Looks: "an enabled nftables.service, and 'flush ruleset' in /etc/nftables.conf",
			Why: "A reload of the service removes heddle's tables too, for up to a second until the agent has put them back.", Remedy: "name the tables in /etc/nftables.conf instead of 'flush ruleset'", look: lookFlush},
	}
}

const (
	networkdConf      = "/etc/systemd/networkd.conf.d/50-heddle.conf"
	networkdUnmanaged = "/etc/systemd/network/05-heddle.network"
	nmConf            = "/etc/NetworkManager/conf.d/90-heddle.conf"
)

// prefixes are the prefixes of our links' names; sampleNames are examples of such names.
var (
	prefixes = []string{heddle.PrefixBridge, heddle.PrefixLeaf, heddle.PrefixPort, heddle.PrefixTrunk, heddle.PrefixShim, heddle.PrefixSlave,
		heddle.PrefixTunnel, heddle.PrefixHand}
	sampleNames = withDigits(prefixes)
)

func withDigits(starts []string) (names []string) {
	for _, s := range starts {
		names = append(names, s+"0123456789")
	}
	return names
}

// fixFile writes a configuration file of our own, which the manager reads at its next reload.
func fixFile(file, text string) func(context.Context, *Host) ([]string, error) {
	return func(context.Context, *Host) ([]string, error) {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return nil, err
		}
		return []string{"wrote " + file + "; it holds after the program's reload or restart"}, nil
	}
}

func lookRunning(program string) func(context.Context, *Host) Finding {
	return func(_ context.Context, h *Host) Finding { return trouble(lines(h.running(program))) }
}

func lines[T interface{ String() string }](all []T) (text []string) {
	for _, x := range all {
		text = append(text, x.String())
	}
	return text
}

func lookNetworkManager(_ context.Context, h *Host) Finding {
	daemon := h.running("NetworkManager")
	if len(daemon) == 0 {
		return fine("NetworkManager does not run here")
	}
	var read []string
	kept := map[string]bool{}
	for _, l := range configLines("/etc/NetworkManager/conf.d/*.conf", "/run/NetworkManager/conf.d/*.conf", "/usr/lib/NetworkManager/conf.d/*.conf", "/etc/NetworkManager/NetworkManager.conf") {
		if !strings.HasPrefix(l.text, "unmanaged-devices") {
			continue
		}
		read = append(read, l.String())
		_, value, _ := strings.Cut(l.text, "=")
		for _, word := range strings.FieldsFunc(value, func(r rune) bool { return r == ';' || r == ',' }) {
			for _, name := range sampleNames {
				ok, _ := path.Match(strings.TrimPrefix(strings.TrimSpace(word), "interface-name:"), name)
				kept[name] = kept[name] || ok
			}
		}
	}
	if !slices.ContainsFunc(sampleNames, func(name string) bool { return !kept[name] }) {
		return fine(read...)
	}
	return trouble(append(lines(daemon), append(read, "unmanaged-devices does not name hb*, hc*, hd*, hi*, hm*, hs* and hv*")...))
}

func lookDhcpcd(_ context.Context, h *Host) Finding {
	daemon := h.running("dhcpcd")
	if len(daemon) == 0 {
		return fine("dhcpcd does not run here")
	}
	all, _ := linesOf("/etc/dhcpcd.conf")
	for _, l := range all {
		words := strings.Fields(strings.ReplaceAll(l.text, ",", " "))
		if words[0] == "allowinterfaces" && !slices.ContainsFunc(words[1:], matchesSampleName) || words[0] == "denyinterfaces" && slices.ContainsFunc(words[1:], matchesSampleName) {
			return fine(l.String())
		}
	}
	return trouble(append(lines(daemon), "/etc/dhcpcd.conf: no denyinterfaces that names hb*, hc*, hd*, hi*, hm*, hs* and hv*"))
}
