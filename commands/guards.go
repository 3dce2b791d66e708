package commands

import (
	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// firewall writes one atomic nft transaction as a here-document.
func (t typist) firewall(objects []heddle.Firewall) []string {
	return []string{"nft -f - <<'EOF'\n" + firewall.Ruleset(objects) + "EOF"}
}

func (t typist) sysctl(c heddle.Sysctl) []string {
	return []string{t.inside("sysctl -qw " + c.Name + "=" + c.Value)}
}

func (t typist) element(e heddle.Element) []string { return []string{"nft " + firewall.AddElement(e)} }

func (t typist) forward(f heddle.Forward) []string {
	where := "master static"
	if f.Dst.IsValid() {
		where = "self permanent dst " + f.Dst.String()
	}
	return []string{t.tool("bridge", "fdb replace %s dev %s %s", f.MAC, f.Link, where)}
}
