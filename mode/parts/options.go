package parts

import (
	"strings"

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
			return BadOption(n, heddle.Clip(k), "mode "+n.Mode+" has no such option", knownOptions(known))
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
		return false, BadOption(n, key+"="+heddle.Clip(v), "it is neither true nor false", "give true or false")
	}
}

// BadOption refuses an option of a network, which is written as a key, or as KEY=VALUE.
func BadOption(n heddle.Network, option, cause, remedy string) error {
	return heddle.Errorf(heddle.BadOption, "set option", option+" of network "+n.Name, cause, remedy)
}

func knownOptions(known []string) string {
	if len(known) == 0 {
		return "leave it out: the mode has no options"
	}
	return "give one of " + strings.Join(known, ", ") + ", or leave it out"
}
