package firewall

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

// What the rules of policies refuse goes to the chain refused-out or refused-in, which tells the agent of it and drops it. What is told
// is limited for each sender, so that nobody's flood hides what is refused to others: by the port that the packet came from, or by the
// port that it goes to and the sender's MAC address, which another guard keeps true for containers and which is the host's for all that it
// routes. A second limit, for all together, bounds what the agent has to do.

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

// refusedSets are the sets of the senders who are refused something.
func refusedSets() []heddle.Firewall {
	set := func(way, key string) heddle.Firewall {
		return heddle.Firewall{Family: "bridge", Kind: "set", Name: "refused-" + way,
			Spec: fmt.Sprintf("typeof %s; flags dynamic,timeout; size %d; timeout %ds; %s;", key, maxSenders, senderTime, flowsGC)}
	}
	return []heddle.Firewall{set("out", "iifname"), set("in", "oifname . ether saddr")}
}

func refusedChain(way string) heddle.Firewall {
	sender, prefix := "iifname", RefusedOut
	if way == "in" {
		sender, prefix = "oifname . ether saddr", RefusedIn
	}
	return chain("bridge", "refused-"+way, "",
		fmt.Sprintf(`update @refused-%s { %s %s } %s log prefix "%s" group %d snaplen %d`, way, sender, perSender, perHost, prefix, RefusedGroup, RefusedBytes),
		Drop("denied"))
}
