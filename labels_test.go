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
