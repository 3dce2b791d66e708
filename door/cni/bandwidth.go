package cni

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/heddle-network/heddle"
)

// bandwidth is the capability of that name (CONVENTIONS.md of the specification): seen from the container, rates in bits a second, and
// bursts in bits.
type bandwidth struct {
	IngressRate  int64 `json:"ingressRate"`
	IngressBurst int64 `json:"ingressBurst"`
	EgressRate   int64 `json:"egressRate"`
	EgressBurst  int64 `json:"egressBurst"`
}

// parseBandwidth reads it. A rate of 0 is no limit.
func parseBandwidth(raw json.RawMessage) (l heddle.RateLimits, err error) {
	var b bandwidth
	if err := decode("runtimeConfig.bandwidth", raw, &b); err != nil {
		return l, err
	}
	if l.In, err = limitOf("ingress", b.IngressRate, b.IngressBurst); err == nil {
		l.Out, err = limitOf("egress", b.EgressRate, b.EgressBurst)
	}
	return l, err
}

// limitOf is the limit of one direction. Runtimes that know no burst give the largest number there is, of 31 or 32 bits; then one is chosen.
func limitOf(way string, rate, burst int64) (heddle.RateLimit, error) {
	if rate < 0 || burst < 0 {
		return heddle.RateLimit{}, badKey("runtimeConfig.bandwidth", fmt.Sprintf("%sRate is %d and %sBurst %d", way, rate, way, burst), "give numbers of bits that are not negative")
	}
	if burst == math.MaxInt32 || burst == math.MaxUint32 {
		burst = 0
	}
	if rate == 0 {
		return heddle.RateLimit{}, nil
	}
	return heddle.RateLimit{Rate: heddle.Rate(rate), Burst: uint64(burst) / 8}, nil
}
