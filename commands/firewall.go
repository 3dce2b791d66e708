package commands

import (
	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// firewall writes one atomic nft transaction as a here-document.
func (w writer) firewall(objects []heddle.Firewall) []string {
	return []string{"nft -f - <<'EOF'\n" + firewall.Ruleset(objects) + "EOF"}
}

func (w writer) sysctl(c heddle.Sysctl) []string {
	return []string{w.inNamespace("sysctl -qw " + c.Name + "=" + c.Value)}
}

func (w writer) element(e heddle.Element) []string { return []string{"nft " + firewall.AddElement(e)} }

func (w writer) forward(f heddle.Forward) []string {
	where := "master static"
	if f.Dst.IsValid() {
		where = "self permanent dst " + f.Dst.String()
	}
	return []string{w.command("bridge", "fdb replace %s dev %s %s", f.MAC, f.Link, where)}
}
