package heddle

import (
	"errors"
	"testing"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]Rate{"100Mbit": 100e6, "1.5gbit": 15e8, "64kbit": 64e3, "8bit": 8, "1TBIT": 1e12, "1e3kbit": 1e6} {
		have, err := ParseRate(text)
		if err != nil || have != want {
			t.Errorf("%s: %d, %v", text, have, err)
		}
		if again, err := ParseRate(have.String()); err != nil || again != have {
			t.Errorf("%s: %s is read as %d, %v", text, have, again, err)
		}
	}
	for _, text := range []string{"", "0", "5", "100", "mbit", "0mbit", "-5Mbit", "0.1bit", "1e30bit", "NaNbit", "Infbit", "0x10mbit", "1_0mbit", "100 mbit", "100mbps", "unlimited"} {
		if have, err := ParseRate(text); !errors.Is(err, BadArgument.Sentinel()) {
			t.Errorf("%q: %d, %v", text, have, err)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]uint64{"256kB": 256e3, "256KiB": 1 << 18, "1b": 1, "1.5MB": 15e5, "1GiB": 1 << 30, "2gb": 2e9} {
		have, err := ParseSize(text)
		if err != nil || have != want {
			t.Errorf("%s: %d, %v", text, have, err)
		}
		if again, err := ParseSize(FormatSize(have)); err != nil || again != have {
			t.Errorf("%s: %s is read as %d, %v", text, FormatSize(have), again, err)
		}
	}
	for _, text := range []string{"", "0", "100", "kB", "-1kB", "0B", "1e40GB", "NaNB"} {
		if have, err := ParseSize(text); !errors.Is(err, BadArgument.Sentinel()) {
			t.Errorf("%q: %d, %v", text, have, err)
		}
	}
}

// TestWithin: of two limits the smaller one holds, in rate and in burst, whichever comes first.
func TestWithin(t *testing.T) {
	fast, slow := RateLimit{Rate: 100e6, Burst: 100e3}, RateLimit{Rate: 10e6, Burst: 1e6}
	both := RateLimit{Rate: 10e6, Burst: 100e3}
	for _, c := range []struct{ a, b, want RateLimits }{
		{RateLimits{}, RateLimits{}, RateLimits{}},
		{RateLimits{In: fast}, RateLimits{}, RateLimits{In: fast}},
		{RateLimits{In: fast}, RateLimits{Out: slow}, RateLimits{In: fast, Out: slow}},
		{RateLimits{In: fast, Out: slow}, RateLimits{In: slow, Out: fast}, RateLimits{In: both, Out: both}},
	} {
		if x, y := c.a.Within(c.b), c.b.Within(c.a); x != c.want || y != c.want {
			t.Errorf("%s and %s: %s and %s, want %s", c.a, c.b, x, y, c.want)
		}
	}
}

func TestFit(t *testing.T) {
	id := EndpointID{"c1", "eth0"}
	for _, c := range []struct {
		asked RateLimit
		mtu   int
		burst uint64 // 0 if it is refused
	}{
		{RateLimit{Rate: 100e6}, 1500, 100e3},
		{RateLimit{Rate: 1e9}, 1500, 1e6},
		{RateLimit{Rate: 1e6}, 1500, 8 * 1518},
		{RateLimit{Rate: LeastRate}, 65535, 8 * 65553},
		{RateLimit{Rate: MostRate}, 1500, 1e9},
		{RateLimit{Rate: 1e6, Burst: 1518}, 1500, 1518},
		{RateLimit{Rate: 1e6, Burst: 1517}, 1500, 0},
		{RateLimit{Rate: 1e6, Burst: 1e9}, 1500, 0},
		{RateLimit{Rate: MostRate, Burst: 2e9}, 1500, 0},
		{RateLimit{Rate: LeastRate - 1}, 1500, 0},
		{RateLimit{Rate: MostRate + 1}, 1500, 0},
		{RateLimit{Burst: 1e5}, 1500, 0},
	} {
		for _, way := range []string{"in", "out"} {
			asked := RateLimits{In: c.asked}
			if way == "out" {
				asked = RateLimits{Out: c.asked}
			}
			have, err := asked.Fit(id, c.mtu)
			if refused := errors.Is(err, BadOption.Sentinel()); refused != (c.burst == 0) || have.In.Burst+have.Out.Burst != c.burst {
				t.Errorf("%s %+v: %+v, %v, want burst %d", way, c.asked, have, err, c.burst)
			}
		}
	}
	if l, err := (RateLimits{}).Fit(id, 0); err != nil || !l.IsZero() {
		t.Errorf("no limits: %v, %v", l, err)
	}
}
