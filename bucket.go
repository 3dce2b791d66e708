package heddle

// Bucket has a link send no more than a rate: a token bucket filter is the link's root qdisc (tc-tbf(8)). Its handle is BucketHandle, by
// which it is known as ours.
type Bucket struct {
	Link string `json:"link"`
	Rate Rate   `json:"rate"`
	// Burst is how many bytes may pass at once. A larger segment is cut up into packets.
	Burst uint64 `json:"burst"`
	// Queue is how many bytes may wait for the rate. What does not fit is dropped.
	Queue uint64 `json:"queue"`
}

// BucketHandle is the major number of the handle of our buckets.
const BucketHandle = 0x6864

// LeastCounted is how many bytes a frame counts at least: what it would be on a wire (IEEE 802.3, 3.2.8).
const LeastCounted = 64

func (b Bucket) Key() string { return "bucket/" + b.Link }

func (b Bucket) comparable() any { return b }

// Divert leads what arrives on a link through another device first, whose qdisc holds it back: an ifb, which gives it back to the link
// afterwards (drivers/net/ifb.c).
type Divert struct {
	Link string `json:"link"`
	To   string `json:"to"`
}

// DivertPriority (tc(8)) is that of our filter on the link's ingress. It comes before the fast path's program.
const DivertPriority = RouteProtocol - 1

func (d Divert) Key() string { return "divert/" + d.Link }

func (d Divert) comparable() any { return d }
