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

// Filter chooses objects. Its words are KEY=WANTED: of several with one key one must
// fit, and each key must; of labels all must. An empty filter lets all pass.
type Filter map[string][]string

// ParseFilter reads words; keys are those that the filtered objects have.
func ParseFilter(words []string, keys ...string) (Filter, error) {
	f := Filter{}
	if len(words) > maxFilters {
		return nil, Errorf(BadArgument, "filter", fmt.Sprintf("of %d words", len(words)), fmt.Sprintf("give at most %d", maxFilters))
	}
	for _, w := range words {
		key, wanted, found := strings.Cut(w, "=")
		if !found || wanted == "" || !slices.Contains(keys, key) {
			return nil, Errorf(BadArgument, "filter", fmt.Sprintf("%q", Clip(w)), "give KEY=WANTED; the keys are "+strings.Join(keys, ", "))
		}
		f[key] = append(f[key], wanted)
	}
	return f, nil
}

// Has reports whether an object passes whose property of that key has the value.
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
