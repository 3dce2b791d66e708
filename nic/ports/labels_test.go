package ports

import (
	"testing"

	"github.com/heddle-network/heddle"
)

// TestAsked: what was asked for is read as it was recorded. What somebody has written there by hand and cannot be read was not asked for.
func TestAsked(t *testing.T) {
	for _, asked := range []heddle.RateLimits{{}, {In: heddle.RateLimit{Rate: 10e6}}, {In: heddle.RateLimit{Rate: 12345678, Burst: 12345}, Out: heddle.RateLimit{Rate: heddle.MostRate, Burst: 1 << 30}}} {
		c := askedLabels(asked)
		if got := askedOf(c.Set); got != asked || len(c.Set)+len(c.Remove) != 2 {
			t.Errorf("%+v is recorded as %+v, and read as %+v", asked, c, got)
		}
		if err := heddle.CheckLabels("port", c.Set); err != nil {
			t.Error(err)
		}
	}
	for _, text := range []string{"fast", "10mbit/", "10mbit/x", "/64KiB", "-1mbit"} {
		if got := askedOf(map[string]string{labelIn: text}); !got.IsZero() {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}
