package heddle

import "fmt"

// RulesetRemoval is the nft script that takes the objects away again, rules
// before the chains that they jump to. Tables go last.
func RulesetRemoval(objects []Firewall) string {
	flush, chains, sets, tables := "", "", "", ""
	for i := len(objects) - 1; i >= 0; i-- {
		f := objects[i]
		switch f.Kind {
		case "table":
			tables += fmt.Sprintf("delete table %s %s\n", f.Family, Mark)
		case "chain":
			flush += fmt.Sprintf("flush chain %s %s %s\n", f.Family, Mark, f.Name)
			chains += fmt.Sprintf("delete chain %s %s %s\n", f.Family, Mark, f.Name)
		default:
			sets += fmt.Sprintf("delete %s %s %s %s\n", f.Kind, f.Family, Mark, f.Name)
		}
	}
	return flush + chains + sets + tables
}
