package parts

import "github.com/heddle-network/heddle"

// How much may wait for a limit: so much of its rate, but some frames, and some segments where the bucket has room for them.
const (
	queueTime   = 0.050 // seconds
	leastFrames = 16
	segment     = 64 << 10
	segments    = 4
)

// limits hold back, at the endpoint's port, what the container receives and sends. The port sends what the container receives; what it
// sends arrives there, and goes through a device of its own first, since the kernel holds back only what is sent.
func limits(n heddle.Network, e heddle.Endpoint) (s heddle.State) {
	port, shaper := e.ID.PortName(), e.ID.ShaperName()
	if e.Limits.In.Rate != 0 {
		s.Buckets = append(s.Buckets, bucket(port, e.Limits.In, e.MTU))
	}
	if e.Limits.Out.Rate != 0 {
		s.Links = append(s.Links, heddle.Link{Name: shaper, Kind: "ifb", MTU: e.MTU, Group: n.Group(), Alias: e.ID.Alias(), NoAutoAddress: true})
		s.Buckets = append(s.Buckets, bucket(shaper, e.Limits.Out, e.MTU))
		s.Diverts = []heddle.Divert{{Link: port, To: shaper}}
	}
	return s
}

func bucket(link string, l heddle.RateLimit, mtu int) heddle.Bucket {
	queue := max(uint64(float64(l.Rate)/8*queueTime), leastFrames*uint64(mtu))
	if l.Burst >= segment {
		queue = max(queue, segments*segment)
	}
	return heddle.Bucket{Link: link, Rate: l.Rate, Burst: l.Burst, Queue: min(queue, 1<<30)}
}
