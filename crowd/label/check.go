package label

import (
	"fmt"
	"io"
	"net/netip"
	"slices"
	"time"
)

// Coverage is how labels and captured packets fit together.
type Coverage struct {
	// Packets are those of TCP and UDP that users sent or received, Flows the labels that have some.
	Packets int `json:"packets"`
	Flows   int `json:"flows"`
	// Unlabelled are flows of users that have no label, Twice those that have more than one.
	Unlabelled []string `json:"unlabelled,omitempty"`
	Twice      []string `json:"twice,omitempty"`
	// Dropped are packets that were dropped for the capture, if it says so.
	Dropped uint64 `json:"dropped"`
	// Unseen are labels without a packet: where it was captured, they did not pass, or the capture lost them.
	Unseen int `json:"unseen"`
	// UnseenFlows are the first ten of them.
	UnseenFlows []string `json:"unseenFlows,omitempty"`
}

// slack is how much earlier than its label a flow's first packet may be, by the clocks of two who write down the time.
const slack = time.Second

const timeOfDay = "15:04:05.000000"

// Check holds the packets of a capture, pcap or pcapng, against labels: each flow of a user must have one. The same
// addresses and ports may be used again, later: a packet is of the last label that was written before it.
func Check(labels []Label, capture io.Reader) (c Coverage, err error) {
	byEnds, users, seen := map[ends][]int{}, map[netip.Addr]bool{}, map[int]bool{}
	for i, l := range labels {
		key := endsOf(protocols[l.Protocol], l.From, l.To)
		if before := byEnds[key]; len(before) > 0 {
			if last := labels[before[len(before)-1]]; last.Round == l.Round && last.Mode == l.Mode && (last.Ended.IsZero() || l.At.Before(last.Ended)) {
				c.Twice = append(c.Twice, key.String())
			}
		}
		byEnds[key] = append(byEnds[key], i)
		users[l.From.Addr()] = true
	}
	missing := map[ends]bool{}
	packets, err := newReader(capture)
	if err != nil {
		return c, err
	}
	err = packets.each(func(at time.Time, key ends) {
		if !users[key.a.Addr()] && !users[key.b.Addr()] {
			return
		}
		c.Packets++
		of := -1
		for _, i := range byEnds[key] {
			if !at.Add(slack).Before(labels[i].At) {
				of = i
			}
		}
		if of < 0 {
			missing[key] = true
			return
		}
		seen[of] = true
	})
	for key := range missing {
		c.Unlabelled = append(c.Unlabelled, key.String())
	}
	slices.Sort(c.Unlabelled)
	for i, l := range labels {
		if !seen[i] && len(c.UnseenFlows) < 10 {
			c.UnseenFlows = append(c.UnseenFlows, fmt.Sprintf("%s, for %s, from %s to %s", endsOf(protocols[l.Protocol], l.From, l.To), l.Do, l.At.Format(timeOfDay), l.Ended.Format(timeOfDay)))
		}
	}
	c.Flows, c.Unseen, c.Dropped = len(seen), len(labels)-len(seen), packets.dropped
	return c, err
}

// String is the flow in words.
func (e ends) String() string {
	name := fmt.Sprint(e.protocol)
	for word, number := range protocols {
		if number == e.protocol {
			name = word
		}
	}
	return fmt.Sprintf("%s %s %s", name, e.a, e.b)
}
