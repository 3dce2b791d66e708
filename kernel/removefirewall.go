package kernel

import (
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// removeFirewall takes away those of the objects that are there, in one nft
// transaction. What is in a table goes with it.
func (s *site) removeFirewall(objects []heddle.Firewall) error {
	if len(objects) == 0 {
		return nil
	}
	live, err := s.tables(objects)
	if err != nil {
		return err
	}
	isTable := func(family string) bool {
		return slices.ContainsFunc(objects, func(f heddle.Firewall) bool { return f.Family == family && f.Kind == "table" })
	}
	var there []heddle.Firewall
	for _, f := range objects {
		if f.Kind != "table" && isTable(f.Family) || live[f.Family].compare(f).kind == "missing" {
			continue
		}
		there = append(there, f)
	}
	return s.runNft(firewall.Removal(there))
}
