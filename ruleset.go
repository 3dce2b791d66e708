package heddle

import "strings"

// Firewall is a static object of our nftables tables: Kind is "table", "set",
// "map", "counter" or "chain". Spec is what stands between the braces in nft's
// own language, without a chain's rules.
type Firewall struct {
	// Family is inet or bridge; the table is always named heddle.
	Family string   `json:"family"`
	Kind   string   `json:"kind"`
	Name   string   `json:"name,omitempty"`
	Spec   string   `json:"spec,omitempty"`
	Rules  []string `json:"rules,omitempty"`
}

func (f Firewall) Key() string {
	return strings.TrimSuffix("firewall/"+f.Family+"/"+f.Kind+"/"+f.Name, "/")
}

func (f Firewall) comparable() any {
	return f.Key() + "\x00" + f.Spec + "\x00" + strings.Join(f.Rules, "\n")
}
