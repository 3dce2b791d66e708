package parts

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

// CheckOptions refuses options that are not among the known ones.
func CheckOptions(n heddle.Network, known ...string) error {
	for k := range n.Options {
		found := false
		for _, want := range known {
			found = found || k == want
		}
		if !found {
			return heddle.Errorf(heddle.BadOption, "network "+n.Name+" option", heddle.Clip(k), "", "the mode "+n.Mode+" knows: "+orNone(known))
		}
	}
	return nil
}

// CheckBoolOptions refuses options that are neither "true" nor "false".
func CheckBoolOptions(n heddle.Network, keys ...string) error {
	for _, key := range keys {
		if _, err := BoolOption(n, key); err != nil {
			return err
		}
	}
	return nil
}

// BoolOption reads an option that is "true" or "false"; absent is false.
func BoolOption(n heddle.Network, key string) (bool, error) {
	switch v := n.Options[key]; v {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, heddle.Errorf(heddle.BadOption, "network "+n.Name+" option", key+"="+heddle.Clip(v), "", "give true or false")
	}
}

func orNone(s []string) string {
	if len(s) == 0 {
		return "no options"
	}
	return fmt.Sprint(s)
}
