package parts

import (
	"maps"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// The values of options that are on or off.
const (
	onOff   = "true|false"
	onlyOn  = "true"
	onlyOff = "false"
)

// Options of several modes.
var (
	// Masquerade is the option of modes that hide containers behind the host by default.
	Masquerade = heddle.ModeOption{Name: "masquerade", Values: onlyOff, Text: "keep the containers' addresses outside"}
	// Hide is the option of modes that do not.
	Hide     = heddle.ModeOption{Name: "masquerade", Values: onlyOn, Text: "hide the containers behind the host"}
	FastPath = heddle.ModeOption{Name: "fast-path", Values: onlyOff, Text: "every packet takes the host's stack"}
	BigTCP   = heddle.ModeOption{Name: "big-tcp", Values: onOff,
		Text: "IPv4 segments beyond 64 KB on one host; by default with --internal alone"}
	Engines = heddle.ModeOption{Name: firewall.OptionEngines, Values: onlyOn,
		Text: "let containers call those of other engines on the host at their own addresses"}
)

// CheckOptions refuses options that are not among the known ones, and values that are not true or
// false where these are the values.
func CheckOptions(n heddle.Network, known []heddle.ModeOption) error {
	for _, key := range slices.Sorted(maps.Keys(n.Options)) {
		i := slices.IndexFunc(known, func(o heddle.ModeOption) bool { return o.Name == key })
		if i < 0 {
			return BadOption(n, heddle.Clip(key), "mode "+n.Mode+" has no such option", knownOptions(known))
		}
		if slices.Contains([]string{onOff, onlyOn, onlyOff}, known[i].Values) {
			if _, err := BoolOption(n, key); err != nil {
				return err
			}
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

func knownOptions(known []heddle.ModeOption) string {
	if len(known) == 0 {
		return "leave it out: the mode has no options"
	}
	var names []string
	for _, o := range known {
		names = append(names, o.Name)
	}
	return "give one of " + strings.Join(names, ", ") + ", or leave it out"
}
