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

// The bounds of labels: how many on one object, and the bytes in a key and in a value.
const MaxLabels, MaxLabelKey, MaxLabelValue = 64, 63, 256

// CheckLabels refuses labels that are too many, too long, or not printable.
func CheckLabels(object string, labels map[string]string) error {
	if len(labels) > MaxLabels {
		return Errorf(TooMuch, object, fmt.Sprintf("with %d labels", len(labels)), "", fmt.Sprintf("an object has at most %d", MaxLabels))
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if why := badLabel(key, labels[key]); why != "" {
			return Errorf(BadLabel, object, fmt.Sprintf("%q", Clip(key)+"="+Clip(labels[key])), "", why)
		}
	}
	return nil
}

func badLabel(key, value string) string {
	plain := func(r rune) bool { return r > ' ' && r <= '~' && r != '=' }
	switch {
	case key == "" || len(key) > MaxLabelKey || strings.ContainsFunc(key, func(r rune) bool { return !plain(r) }):
		return fmt.Sprintf("a key has 1 to %d printable ASCII bytes without '=' and spaces", MaxLabelKey)
	case len(value) > MaxLabelValue || !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Sprintf("a value has at most %d bytes, all of printable characters", MaxLabelValue)
	}
	return ""
}

// ParseLabels reads words of the form KEY=VALUE, or KEY alone for an empty value.
func ParseLabels(words []string) (map[string]string, error) {
	var all map[string]string
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		if _, twice := all[key]; twice {
			return nil, Errorf(BadLabel, "label", fmt.Sprintf("%q", Clip(key)), "", "give each key once")
		}
		if all == nil {
			all = map[string]string{}
		}
		all[key] = value
	}
	return all, CheckLabels("labels", all)
}

// LabelText is labels as one line: KEY=VALUE, by key.
func LabelText(labels map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, key+"="+labels[key])
	}
	return strings.Join(all, ", ")
}
