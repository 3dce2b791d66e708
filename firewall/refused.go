package firewall

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

// What the rules of policies refuse goes to the chain refused-out or refused-in, which tells the agent of it, if the kernel can, and drops it. What is told
// is limited for each sender, so that nobody's flood hides what is refused to others: by the port that the packet came from, or by the
// port that it goes to and the sender's MAC address, which another guard keeps true for containers and which is the host's for all that it
// routes. A second limit, for all together in each direction, bounds what the agent has to do.

// RefusedGroup is the group of NFNETLINK_LOG for what is refused, RefusedBytes how much of a packet is told: headers, no more.
const RefusedGroup, RefusedBytes = 26624, 96

// The prefixes of its messages.
const RefusedOut, RefusedIn = "heddle-out", "heddle-in"

const (
	perSender  = "limit rate 5/second burst 20 packets"
	perHost    = "limit rate 500/second burst 500 packets"
	maxSenders = 65536
	senderTime = 60
)

// Refuse is the end of a rule of policies that refuses a packet; way is out or in.
func Refuse(way string) string { return "goto refused-" + way }

// RefusedTold is what a kernel takes that can tell of what is refused: it needs nft_log and nfnetlink_log.
func RefusedTold() []heddle.Firewall {
	holders, chains := refused(true)
	return append(append([]heddle.Firewall{{Family: "bridge", Kind: "table"}}, counters("bridge", "denied")...), append(holders, chains...)...)
}

// refused are the chains for what is refused, and the sets of the senders of what is told.
func refused(told bool) (senders, chains []heddle.Firewall) {
	for _, w := range []struct{ way, sender, prefix string }{{"out", "iifname", RefusedOut}, {"in", "oifname . ether saddr", RefusedIn}} {
		name, rules := "refused-"+w.way, []string{Drop("denied")}
		if told {
			senders = append(senders, heddle.Firewall{Family: "bridge", Kind: "set", Name: name,
				Spec: fmt.Sprintf("typeof %s; flags dynamic,timeout; size %d; timeout %ds; %s;", w.sender, maxSenders, senderTime, flowsGC)})
			rules = append([]string{fmt.Sprintf(`update @%s { %s %s } %s log prefix "%s" group %d snaplen %d`, name, w.sender, perSender, perHost, w.prefix, RefusedGroup, RefusedBytes)}, rules...)
		}
		chains = append(chains, chain("bridge", name, "", rules...))
	}
	return senders, chains
}
