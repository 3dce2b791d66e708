// Package voice says how good a call over the network was, from the packets that came: ITU-T's E-model (G.107) with
// the values of G.711 (G.113, appendix I). It is pure.
package voice

import (
	"math"
	"time"
)

// concealed is the robustness to packet loss, Bpl, of G.711 with packet loss concealment (G.113, table I.4).
const concealed = 25.1

// R is the transmission rating of a call, 0 to 93.2: what the mouth-to-ear delay and the share of lost packets, 0 to
// 1, leave of it. Echo is taken as cancelled (Idte and Idle are 0); all else has its default value (G.107, clause 7).
func R(delay time.Duration, lost float64) float64 {
	percent := 100 * lost
	equipment := 95 * percent / (percent + concealed) // Ie,eff with Ie = 0 and BurstR = 1 (clause 7.4)
	return math.Max(0, 93.2-delayed(delay)-equipment)
}

// delayed is the impairment by too long a delay, Idd (clause 7.3).
func delayed(delay time.Duration) float64 {
	ms := float64(delay) / float64(time.Millisecond)
	if ms <= 100 {
		return 0
	}
	x := math.Log2(ms / 100)
	root := func(x float64) float64 { return math.Pow(1+math.Pow(x, 6), 1.0/6) }
	return 25 * (root(x) - 3*root(x/3) + 2)
}

// MOS is the mean opinion score that people would give a call of that rating, 1 (bad) to 4.5 (annex B). Below a
// rating of 6.5 the formula falls under 1, which is the least.
func MOS(r float64) float64 {
	switch {
	case r <= 0:
		return 1
	case r >= 100:
		return 4.5
	}
	return math.Max(1, 1+0.035*r+7e-6*r*(r-60)*(100-r))
}
