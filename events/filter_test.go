package events

import (
	"errors"
	"testing"

	"github.com/heddle-network/heddle"
)

func TestFilter(t *testing.T) {
	e := Event{Kind: Endpoint, Network: "front", Labels: map[string]string{"app": "web", "empty": "", "sum": "1+1=2"}}
	for _, c := range []struct {
		words []string
		fits  bool
	}{
		{nil, true},
		{[]string{"kind=endpoint"}, true},
		{[]string{"kind=network"}, false},
		{[]string{"kind=network", "kind=endpoint"}, true},
		{[]string{"kind=endpoint", "network=back"}, false},
		{[]string{"kind=endpoint", "network=back", "network=front"}, true},
		{[]string{"label=app"}, true},
		{[]string{"label=app=web"}, true},
		{[]string{"label=app="}, false},
		{[]string{"label=empty="}, true},
		{[]string{"label=sum=1+1=2"}, true},
		{[]string{"label=other", "label=app=web"}, false},
		{[]string{"label=app", "label=app=web"}, true},
		{[]string{"label=other", "network=front"}, false},
	} {
		f, err := ParseFilter(c.words)
		if err != nil || e.Matches(f) != c.fits {
			t.Errorf("%v: %v, %v", c.words, e.Matches(f), err)
		}
	}
	for _, bad := range []string{"", "=", "kind", "kind=", "kind=pod", "name=x", "label="} {
		if _, err := ParseFilter([]string{bad}); !errors.Is(err, heddle.BadArgument.Sentinel()) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := ParseFilter(make([]string, 1000)); err == nil {
		t.Error("a thousand words pass")
	}
}
