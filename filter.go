package heddle

import (
	"fmt"
	"slices"
	"strings"
)

// FilterLabel is the key of filters about labels: label=KEY or label=KEY=VALUE.
const FilterLabel = "label"

// maxFilters bounds the words of a filter.
const maxFilters = 64

// Filter selects objects by words of the form KEY=WANTED. For each key, at least one of
// its words must match; for labels, all words must match. An empty filter passes all.
type Filter map[string][]string

// ParseFilter reads words; keys are those that the filtered objects have.
func ParseFilter(words []string, keys ...string) (Filter, error) {
	f := Filter{}
	if len(words) > maxFilters {
		return nil, Errorf(BadArgument, "read filter", "", fmt.Sprintf("it has %d words", len(words)), fmt.Sprintf("give at most %d", maxFilters))
	}
	for _, w := range words {
		key, wanted, found := strings.Cut(w, "=")
		if !found || wanted == "" || !slices.Contains(keys, key) {
			return nil, Errorf(BadArgument, "read filter", fmt.Sprintf("%q", Clip(w)), "it is not KEY=WANTED with one of the known keys",
				"give KEY=WANTED, where KEY is one of "+strings.Join(keys, ", "))
		}
		f[key] = append(f[key], wanted)
	}
	return f, nil
}

// Has reports whether an object passes if its property named key has the value.
func (f Filter) Has(key, value string) bool {
	return len(f[key]) == 0 || slices.Contains(f[key], value)
}

// HasLabels reports whether an object with these labels has all that are asked for.
func (f Filter) HasLabels(labels map[string]string) bool {
	for _, wanted := range f[FilterLabel] {
		key, value, exact := strings.Cut(wanted, "=")
		if has, there := labels[key]; !there || exact && has != value {
			return false
		}
	}
	return true
}
