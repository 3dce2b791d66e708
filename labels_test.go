package heddle

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCheckLabels(t *testing.T) {
	many := func(n int) map[string]string {
		all := map[string]string{}
		for i := range n {
			all[fmt.Sprint(i)] = ""
		}
		return all
	}
	for _, good := range []map[string]string{nil, {"app.kubernetes.io/name": "web"}, {"a": "grün = gut"}, many(MaxLabels),
		{strings.Repeat("k", MaxLabelKey): strings.Repeat("v", MaxLabelValue)}} {
		if err := CheckLabels("network n", good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []map[string]string{{"": "x"}, {"a b": ""}, {"a=b": ""}, {"grün": ""}, {"a\x1b": ""}, {"a": "x\n"}, {"a": "\u202e"}, {"a": "\xff"},
		{strings.Repeat("k", MaxLabelKey+1): ""}, {"k": strings.Repeat("v", MaxLabelValue+1)}} {
		if err := CheckLabels("network n", bad); !errors.Is(err, BadLabel.Sentinel()) {
			t.Errorf("%q: %v", bad, err)
		}
		if _, err := Bounded(Network{Labels: bad}); !errors.Is(err, BadLabel.Sentinel()) {
			t.Errorf("network with %q: %v", bad, err)
		}
	}
	if err := CheckLabels("network n", many(MaxLabels+1)); !errors.Is(err, TooMuch.Sentinel()) {
		t.Error(err)
	}
}

func TestParseLabels(t *testing.T) {
	got, err := ParseLabels([]string{"app=web", "flag", "sum=1+1=2"})
	if err != nil || LabelText(got) != "app=web, flag=, sum=1+1=2" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := ParseLabels([]string{"a=1", "a=2"}); !errors.Is(err, BadLabel.Sentinel()) {
		t.Error(err)
	}
	if none, err := ParseLabels(nil); none != nil || err != nil {
		t.Errorf("%v, %v", none, err)
	}
}

// TestLabelChange: words set and remove labels, and the rest stays.
func TestLabelChange(t *testing.T) {
	has := map[string]string{"a": "1", "b": "2"}
	for words, want := range map[string]string{
		"":            "a=1, b=2",
		"c=3 a=9":     "a=9, b=2, c=3",
		"a-":          "b=2",
		"a- b- none-": "",
		"x-=- y=-":    "a=1, b=2, x-=-, y=-",
		"flag":        "a=1, b=2, flag=",
	} {
		c, err := ParseLabelChange(strings.Fields(words))
		if got := LabelText(c.Apply(has)); err != nil || got != want {
			t.Errorf("%s: %s, %v", words, got, err)
		}
	}
	if len(has) != 2 || has["a"] != "1" {
		t.Errorf("the labels themselves became %v", has)
	}
	for _, bad := range []string{"a=1 a-", "a=1 a=2", "a b=1\x00"} {
		if _, err := ParseLabelChange(strings.Fields(bad)); !errors.Is(err, BadLabel.Sentinel()) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	c, err := ParseLabelChange([]string{"a-"})
	if err != nil || c.Apply(map[string]string{"a": ""}) != nil {
		t.Error("no labels are not nil: ", err)
	}
}
