package heddle

import (
	"fmt"
	"strings"
)

// Count returns a number and what it counts: "1 host", "2 hosts".
func Count[N int | int64 | uint64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// List returns things as a list for a sentence: "a, b".
func List[T any](all []T) string {
	words := make([]string, len(all))
	for i, one := range all {
		words[i] = fmt.Sprint(one)
	}
	return strings.Join(words, ", ")
}
