package yamlfile_test

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/heddle-network/heddle/yamlfile"
)

// even is a number that refuses odd ones.
type even int

func (e *even) UnmarshalYAML(n *yaml.Node) error {
	if !strings.HasSuffix(n.Value, "2") {
		return yamlfile.Refuse(n, "%q is odd", n.Value)
	}
	return n.Decode((*int)(e))
}

type file struct {
	Name string
	Pair struct{ Left, Right even }
	All  map[string][]even
}

func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		"name: a\npair: {left: 2, right: 12}\n":        "",
		"":                                             "it is empty",
		"name: a\n---\nname: b\n":                      "it holds more than one document",
		"name: a\nsize: 3\n":                           "line 2: unknown key size",
		"pair:\n  {left: 2, middle: 2}\n":              "line 2: unknown key middle",
		"name: a\npair: {left: 2, right: 3}\n":         `line 2, pair.right: "3" is odd`,
		"pair: {left: 1,\n  right: 3}\n":               `line 1, pair.left: "1" is odd; line 2, pair.right: "3" is odd`,
		"all:\n  one: [2, 12, 7]\n":                    `line 2, all.one: "7" is odd`,
		"name: a\nname: b\n":                           `line 2: mapping key "name" already defined at line 1`,
		"pair: {left: &x 2, right: *x}\nall: {a: [2]}": "",
	} {
		var f file
		got := ""
		if err := yamlfile.Decode([]byte(text), &f); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

func TestWhere(t *testing.T) {
	text := []byte("name: a\npair:\n  left: 2\n")
	for _, c := range []struct {
		keys []string
		want string
	}{
		{[]string{"pair", "left"}, "line 3, pair.left"},
		{[]string{"pair", "right"}, "line 2, pair.right"},
		{[]string{"all", "one"}, "line 1, all.one"},
	} {
		if got := yamlfile.Where(text, c.keys...); got != c.want {
			t.Errorf("%v: %q, not %q", c.keys, got, c.want)
		}
	}
}
