package yamlfile_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

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
	// One of each kind.
	Size  int
	Port  uint16
	Share float64
	Wait  time.Duration
	On    *bool
	Addr  netip.Addr
	Cards []struct{ Name string }
}

func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		"name: a\npair: {left: 2, right: 12}\n":        "",
		"":                                             "it is empty",
		"name: a\n---\nname: b\n":                      "it holds more than one document",
		"name: a\nsise: 3\n":                           "line 2: unknown key sise",
		"\"a b\": 3\nc d e: 4":                         `line 1: unknown key "a b"; line 2: unknown key "c d e"`,
		"x not found in type y: 3":                     `line 1: unknown key "x not found in type y"`,
		"size: many\nport: -1\n":                       `line 1: "many" is of the wrong kind; give a whole number; line 2: "-1" is of the wrong kind; give a whole number that is not negative`,
		"share: [1]\nwait: long":                       `line 1: a list is of the wrong kind; give a number; line 2: "long" is of the wrong kind; give a duration such as 12s`,
		"on: {a: 1}\nname: [b]\nall: 3":                `line 1: a mapping is of the wrong kind; give true or false; line 2: a list is of the wrong kind; give text; line 3: "3" is of the wrong kind; give a mapping`,
		"pair: some very long text":                    `line 1: "some ve..." is of the wrong kind; give a mapping`,
		"addr: [1]":                                    `line 1: a list is of the wrong kind; give text`,
		"cards: 3":                                     `line 1: "3" is of the wrong kind; give a list`,
		"cards: [{name: a}, b, {}, {nam: 3}]":          `line 1: "b" is of the wrong kind; give a mapping; line 1: unknown key nam`,
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

// TestMany: of many errors some are told. A file of them is parsed once more, not once for each of them.
func TestMany(t *testing.T) {
	var f file
	err := yamlfile.Decode([]byte("all: {a: ["+strings.Repeat("1, ", 3000)+"2]}"), &f)
	if err == nil || strings.Count(err.Error(), "is odd") != 10 || !strings.HasSuffix(err.Error(), "; and 2990 more") {
		t.Error(err)
	}
	text := ""
	for i := range 11 {
		text += fmt.Sprintf("key%d: 1\n", i)
	}
	if err = yamlfile.Decode([]byte(text), &f); err == nil || !strings.HasSuffix(err.Error(), "unknown key key9; and 1 more") {
		t.Error(err)
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
