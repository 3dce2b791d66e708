package heddle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Labels are KEY=VALUE pairs that users put on networks and endpoints to find them.
// They change nothing in the kernel.

// LabelPod and LabelPodNamespace are the labels of pods' endpoints, by which Kubernetes' runtimes
// name the pod of a container.
const LabelPod, LabelPodNamespace = "io.kubernetes.pod.name", "io.kubernetes.pod.namespace"

// The bounds of labels: how many on one object, and the bytes in a key and in a value.
const MaxLabels, MaxLabelKey, MaxLabelValue = 64, 63, 256

// CheckLabels refuses labels that are too many, too long, or not printable.
func CheckLabels(object string, labels map[string]string) error {
	if len(labels) > MaxLabels {
		return Errorf(TooMuch, "check labels of", object, fmt.Sprintf("it has %d labels", len(labels)), fmt.Sprintf("give at most %d", MaxLabels))
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if part, remedy := badLabel(key, labels[key]); part != "" {
			return Errorf(BadLabel, "check labels of", object, fmt.Sprintf("the %s of label %q is malformed", part, Clip(key)+"="+Clip(labels[key])), remedy)
		}
	}
	return nil
}

// badLabel says which part of a label is malformed, "" if none is, and how to write it.
func badLabel(key, value string) (part, remedy string) {
	plain := func(r rune) bool { return r > ' ' && r <= '~' && r != '=' }
	switch {
	case key == "" || len(key) > MaxLabelKey || strings.ContainsFunc(key, func(r rune) bool { return !plain(r) }):
		return "key", fmt.Sprintf("give a key of 1 to %d printable ASCII bytes without '=' and spaces", MaxLabelKey)
	case len(value) > MaxLabelValue || !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "value", fmt.Sprintf("give a value of at most %d bytes, all of printable characters", MaxLabelValue)
	}
	return "", ""
}

// ParseLabels reads words of the form KEY=VALUE, or KEY alone for an empty value.
func ParseLabels(words []string) (map[string]string, error) {
	var all map[string]string
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		if _, twice := all[key]; twice {
			return nil, Errorf(BadLabel, "read label", fmt.Sprintf("%q", Clip(w)), "its key was given before", "give each key once")
		}
		if all == nil {
			all = map[string]string{}
		}
		all[key] = value
	}
	return all, CheckLabels("the request", all)
}

// LabelText is labels as one line: KEY=VALUE, by key.
func LabelText(labels map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, key+"="+labels[key])
	}
	return strings.Join(all, ", ")
}

// LabelChange changes labels: those of Set are set, and those whose keys are in Remove go. A key that is not there is no error.
type LabelChange struct {
	Set    map[string]string `json:"set,omitempty"`
	Remove []string          `json:"remove,omitempty"`
}

// ParseLabelChange reads words of the form KEY=VALUE, which set a label, and KEY-, which remove one. Its error is of code BadLabel or
// TooMuch.
func ParseLabelChange(words []string) (c LabelChange, err error) {
	var set []string
	for _, w := range words {
		if key, gone := strings.CutSuffix(w, "-"); gone && !strings.Contains(w, "=") {
			c.Remove = append(c.Remove, key)
			continue
		}
		set = append(set, w)
	}
	if c.Set, err = ParseLabels(set); err != nil {
		return c, err
	}
	for _, key := range c.Remove {
		if _, both := c.Set[key]; both {
			return c, Errorf(BadLabel, "read label", fmt.Sprintf("%q", Clip(key)), "it is to be set and to be removed", "give each key once")
		}
	}
	return c, nil
}

// Apply returns the labels that others become. They are not checked.
func (c LabelChange) Apply(labels map[string]string) map[string]string {
	after := maps.Clone(labels)
	if after == nil {
		after = map[string]string{}
	}
	for _, key := range c.Remove {
		delete(after, key)
	}
	maps.Copy(after, c.Set)
	if len(after) == 0 {
		return nil
	}
	return after
}
