package lazyregexp

import (
	"reflect"
	"regexp"
	"testing"
)

// Each method does what that of regexp does.
func TestMethods(t *testing.T) {
	const text, in = `(a)(\d+)`, "a1 b2 a34"
	lazy, eager := New(text), regexp.MustCompile(text)
	of := func(r interface {
		String() string
		Match([]byte) bool
		MatchString(string) bool
		FindString(string) string
		FindStringIndex(string) []int
		FindStringSubmatch(string) []string
		FindAllString(string, int) []string
		FindAllStringSubmatch(string, int) [][]string
		ReplaceAll(b, to []byte) []byte
		ReplaceAllString(s, to string) string
		ReplaceAllStringFunc(string, func(string) string) string
		Split(string, int) []string
	}) []any {
		return []any{r.String(), r.Match([]byte(in)), r.MatchString("b"), r.FindString(in), r.FindStringIndex("b2 a34"), r.FindStringSubmatch(in), r.FindAllString(in, -1),
			r.FindAllStringSubmatch(in, 1), r.ReplaceAll([]byte(in), []byte("$2")), r.ReplaceAllString(in, "$2"), r.ReplaceAllStringFunc(in, func(s string) string { return "<" + s + ">" }), r.Split(in, -1)}
	}
	if got, want := of(lazy), of(eager); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q and not %q", got, want)
	}
}
