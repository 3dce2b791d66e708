package cni

import (
	"strings"

	"github.com/heddle-network/heddle"
)

// Args is what CNI_ARGS says: "IP=10.20.0.7;MAC=0a:00:00:00:00:07".
type Args struct {
	IPs []string
	MAC string
	// Labels are what Kubernetes says of the pod.
	Labels map[string]string
}

// podLabels are the labels that runtimes of Kubernetes put on containers, by the keys
// under which CNI_ARGS has the same.
var podLabels = map[string]string{
	"K8S_POD_NAMESPACE": "io.kubernetes.pod.namespace",
	"K8S_POD_NAME":      "io.kubernetes.pod.name",
	"K8S_POD_UID":       "io.kubernetes.pod.uid",
}

// label takes a label from what a runtime says, unless it can be none: no container has
// to go without a network for that.
func (a *Args) label(key, value string) {
	name, known := podLabels[key]
	if !known || value == "" || heddle.CheckLabels("pod", map[string]string{name: value}) != nil {
		return
	}
	if a.Labels == nil {
		a.Labels = map[string]string{}
	}
	a.Labels[name] = value
}

// ParseArgs reads CNI_ARGS. Keys that begin with K8S_ are labels or for others; for others
// are unknown ones, too, if IgnoreUnknown is set, and an error if not.
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
			a.label(key, value)
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
