package cni

import (
	"strings"

	"github.com/heddle-network/heddle"
)

// Args is what CNI_ARGS says: "IP=10.20.0.7;MAC=0a:00:00:00:00:07".
type Args struct {
	IPs []string
	MAC string
}

// ParseArgs reads CNI_ARGS. Keys that begin with K8S_ are for others; so are
// unknown ones if IgnoreUnknown is set, and an error if not.
func ParseArgs(s string) (a Args, err error) {
	unknown, ignore := "", false
	for _, pair := range strings.Split(s, ";") {
		if pair == "" {
			continue
		}
		key, value, found := strings.Cut(pair, "=")
		switch {
		case !found || key == "":
			return Args{}, badArgs(pair, "it is not of the form KEY=VALUE")
		case key == "IP":
			a.IPs = append(a.IPs, split(value)...)
		case key == "MAC":
			a.MAC = value
		case key == "IgnoreUnknown":
			if ignore, found = truth(value); !found {
				return Args{}, badArgs(pair, "it is neither true nor false")
			}
		case strings.HasPrefix(key, "K8S_"):
		default:
			unknown = pair
		}
	}
	if unknown != "" && !ignore {
		return Args{}, badArgs(unknown, "it is unknown")
	}
	return a, nil
}

func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

func truth(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "1", "true":
		return true, true
	case "0", "false":
		return false, true
	}
	return false, false
}

func badArgs(pair, cause string) error {
	return faultf(badEnvironment, heddle.BadArgument, "read environment CNI_ARGS", heddle.Clip(pair), cause, "the keys are IP and MAC; with IgnoreUnknown=1 others are ignored")
}
