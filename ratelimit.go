package heddle

import (
	"fmt"
	"strings"
)

// RateLimits are how much an endpoint may receive (In) and send (Out), seen from the container, as CNI's and Kubernetes' ingress and
// egress are.
type RateLimits struct {
	In  RateLimit `json:"in,omitzero"`
	Out RateLimit `json:"out,omitzero"`
}

// RateLimit is the limit of one direction. Without a rate there is none.
type RateLimit struct {
	Rate Rate `json:"rate"`
	// Burst is how many bytes may pass at once after a pause. In a request 0 leaves the choice to Fit.
	Burst uint64 `json:"burst"`
}

// RateLimitChange changes the limits of an endpoint. What is nil stays; a limit without a rate takes the old one off.
type RateLimitChange struct {
	In  *RateLimit `json:"in,omitempty"`
	Out *RateLimit `json:"out,omitempty"`
}

// Apply returns the limits with the change.
func (c RateLimitChange) Apply(l RateLimits) RateLimits {
	if c.In != nil {
		l.In = *c.In
	}
	if c.Out != nil {
		l.Out = *c.Out
	}
	return l
}

// The bounds of limits. A frame of 64 KB takes 8 seconds at the least rate.
const (
	LeastRate Rate = 64e3
	MostRate  Rate = 1e12
	mostBurst      = 1 << 30
	// mostBurstTime in seconds is what the kernel can tell of a bucket (32 bits of 64 ns, 275 s), and some room.
	mostBurstTime = 250
)

const (
	// frameExtra is what a frame is longer than its IP packet: an Ethernet header with a VLAN tag.
	frameExtra = 18
	// burstTime and leastFrames choose a burst: so much of the rate that a timer which is late does not matter, and no less than so many frames.
	burstTime   = 0.008 // seconds
	leastFrames = 8
)

// IsZero reports whether there is no limit.
func (l RateLimits) IsZero() bool { return l == RateLimits{} }

// Fit chooses the bursts that were left out, for an endpoint with that MTU, and refuses limits that cannot be kept.
func (l RateLimits) Fit(id EndpointID, mtu int) (RateLimits, error) {
	var err error
	if l.In, err = l.In.fit(id, "in", mtu); err != nil {
		return RateLimits{}, err
	}
	l.Out, err = l.Out.fit(id, "out", mtu)
	return l, err
}

func (l RateLimit) fit(id EndpointID, way string, mtu int) (RateLimit, error) {
	frame := uint64(mtu + frameExtra)
	refuse := func(what, cause, remedy string) (RateLimit, error) {
		return RateLimit{}, Errorf(BadOption, "limit endpoint", id.String(), "the "+what+" of direction "+way+" is "+cause, remedy)
	}
	if l.Rate == 0 && l.Burst == 0 {
		return l, nil
	}
	if l.Rate == 0 {
		return refuse("burst", FormatSize(l.Burst)+", and there is no rate", "give a rate, too, or leave the burst out")
	}
	if l.Rate < LeastRate || l.Rate > MostRate {
		return refuse("rate", l.Rate.String()+", which is not from "+LeastRate.String()+" to "+MostRate.String(), "give a rate in this range, or none")
	}
	if l.Burst == 0 {
		l.Burst = max(uint64(float64(l.Rate)/8*burstTime), leastFrames*frame)
	}
	if l.Burst < frame {
		return refuse("burst", fmt.Sprintf("%s, less than a frame of %d bytes", FormatSize(l.Burst), frame), "give at least that, or leave the burst out")
	}
	if most := min(mostBurst, uint64(l.Rate)/8*mostBurstTime); l.Burst > most {
		return refuse("burst", fmt.Sprintf("%s, more than %s", FormatSize(l.Burst), FormatSize(most)), "give less, or leave the burst out")
	}
	return l, nil
}

// Within returns the limits that are left of these if others hold, too: the smaller rate and the smaller burst of each direction. Both have
// their bursts, as after Fit.
func (l RateLimits) Within(most RateLimits) RateLimits {
	return RateLimits{In: l.In.within(most.In), Out: l.Out.within(most.Out)}
}

func (l RateLimit) within(most RateLimit) RateLimit {
	switch {
	case most.Rate == 0:
		return l
	case l.Rate == 0:
		return most
	}
	return RateLimit{Rate: min(l.Rate, most.Rate), Burst: min(l.Burst, most.Burst)}
}

// String tells of both directions, "" if there is no limit.
func (l RateLimits) String() string {
	var all []string
	for _, way := range []struct {
		name string
		RateLimit
	}{{"in", l.In}, {"out", l.Out}} {
		if way.Rate != 0 {
			all = append(all, fmt.Sprintf("%s %s (burst %s)", way.name, way.Rate, FormatSize(way.Burst)))
		}
	}
	return strings.Join(all, ", ")
}
