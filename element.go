package heddle

import "strings"

// Element is a member of one of our nftables sets or maps. Key and Value hold
// one text for each part of the set's type (see firewall.SetType); in a set of ranges, a
// part may be a prefix.
type Element struct {
	Family string   `json:"family"`
	Set    string   `json:"set"`
	Match  []string `json:"match"`
	Value  []string `json:"value,omitempty"`
}

func (e Element) Key() string {
	return "element/" + e.Family + "/" + e.Set + "/" + strings.Join(e.Match, ".")
}

func (e Element) comparable() any { return e.Key() + "\x00" + strings.Join(e.Value, ".") }
