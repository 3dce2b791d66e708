package cni

import (
	"strings"

	"github.com/heddle-network/heddle"
)

// Args is what CNI_ARGS says: "IP=10.20.0.7;MAC=0a:00:00:00:00:07".
type Args struct {
	IPs []string
	MAC string
	// Labels are what Kubernetes tells about the pod.
	Labels map[string]string
}

// podLabels maps keys of CNI_ARGS to the labels that Kubernetes runtimes set on containers
// with the same values.
var podLabels = map[string]string{
	"K8S_POD_NAMESPACE": heddle.LabelPodNamespace,
	"K8S_POD_NAME":      heddle.LabelPod,
	"K8S_POD_UID":       "io.kubernetes.pod.uid",
}

// label adds a label that the runtime gives, unless it is not valid as a label: a
// container must not be refused a network because of that.
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

// name is the name by which other containers find the pod: POD.NAMESPACE, or POD where the engine
// tells no namespace. It is "" if a container cannot be called so.
func (a Args) name(id heddle.EndpointID) string {
	name := a.Labels[heddle.LabelPod]
	if namespace := a.Labels[heddle.LabelPodNamespace]; name != "" && namespace != "" {
		name += "." + namespace
	}
	name, _, err := heddle.CheckNames(id.String(), name, nil)
	if err != nil {
		return ""
	}
	return name
}

// ParseArgs reads CNI_ARGS. Keys that begin with K8S_ are labels or meant for others.
// Other unknown keys are ignored if IgnoreUnknown is set, and otherwise an error.
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
			a.IPs = append(a.IPs, splitList(value)...)
		case key == "MAC":
			a.MAC = value
		case key == "IgnoreUnknown":
			if ignore, found = parseBool(value); !found {
				return Args{}, badArgs(pair, "it is neither true nor false")
			}
		case strings.HasPrefix(key, "K8S_"):
			a.label(key, value)
		default:
			unknown = pair
		}
	}
	if unknown != "" && !ignore {
		return Args{}, badArgs(unknown, "there is no such key")
	}
	return a, nil
}

func splitList(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

func parseBool(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "1", "true":
		return true, true
	case "0", "false":
		return false, true
	}
	return false, false
}

func badArgs(pair, cause string) error {
	return faultf(badEnvironment, heddle.BadArgument, "read CNI_ARGS", heddle.Clip(pair), cause,
		"give the keys IP and MAC; add IgnoreUnknown=1 to have others ignored")
}
