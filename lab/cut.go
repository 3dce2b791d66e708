package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// Cut drops the frames between two hosts, or between one host and all others (b is empty),
// in both directions. One way drops only the frames from a to b. Unlike with SetPort, the
// carrier stays.
func (l *Lab) Cut(ctx context.Context, a, b string, oneWay bool) error {
	if err := l.checkPair(a, b); err != nil {
		return err
	}
	return l.change(ctx, "cut", pairName(a, b), func(f *Faults) error {
		all := []Cut{{a, b}}
		if !oneWay {
			all = append(all, Cut{b, a})
		}
		for _, c := range all {
			if !slices.Contains(f.Cuts, c) {
				f.Cuts = append(f.Cuts, c)
			}
		}
		return l.applyCuts(ctx, f)
	})
}

// Heal takes away the cuts between two hosts, or all cuts of one (b is empty).
func (l *Lab) Heal(ctx context.Context, a, b string) error {
	if err := l.checkPair(a, b); err != nil {
		return err
	}
	return l.change(ctx, "heal", pairName(a, b), func(f *Faults) error {
		f.Cuts = slices.DeleteFunc(f.Cuts, func(c Cut) bool {
			if b == "" {
				return c.From == a || c.To == a
			}
			return c == Cut{a, b} || c == Cut{b, a}
		})
		return l.applyCuts(ctx, f)
	})
}

func (l *Lab) checkPair(a, b string) error {
	for _, name := range []string{a, b} {
		if name != "" && l.Topology.findNode(name) == nil {
			return l.noHost(name)
		}
	}
	if a == "" || a == b {
		return refuse("find hosts", pairName(a, b),
			"they are not two different hosts", "name one host, or two different ones")
	}
	return nil
}

// pairName names the hosts of a cut in a message.
func pairName(a, b string) string {
	if b == "" {
		return a
	}
	return a + " and " + b
}

// applyCuts writes the cuts as nftables rules (bridge family) in the switches. Each
// switch takes its rules in one transaction.
func (l *Lab) applyCuts(ctx context.Context, f *Faults) error {
	for i, sw := range l.Switches {
		rules := l.cutRules(&l.Topology.Switches[i], f.Cuts)
		if err := sw.nft(ctx, rules); err != nil {
			return err
		}
	}
	return nil
}

const cutTable = "heddle-lab"

// cutRules returns the text for nft that replaces the whole table.
func (l *Lab) cutRules(sw *Switch, cuts []Cut) string {
	var forward, input, output []string
	for _, c := range cuts {
		from, to := l.Topology.findNode(c.From), l.Topology.findNode(c.To)
		switch {
		case from == nil:
			for _, port := range to.patterns(sw.Name) {
				forward = append(forward, fmt.Sprintf("oifname %q drop", port))
				output = append(output, fmt.Sprintf("oifname %q drop", port))
			}
		case to == nil:
			for _, port := range from.patterns(sw.Name) {
				forward = append(forward, fmt.Sprintf("iifname %q drop", port))
				input = append(input, fmt.Sprintf("iifname %q drop", port))
			}
		default:
			forward = append(forward, pairRules(from, to, sw.Name)...)
		}
	}
	table := "table bridge " + cutTable
	text := table + "\ndelete " + table + "\n"
	if len(cuts) == 0 {
		return text
	}
	text += table + " {\n"
	for hook, rules := range map[string][]string{"forward": forward, "input": input, "output": output} {
		text += fmt.Sprintf("chain %s { type filter hook %s priority -300; %s }\n", hook, hook, strings.Join(append(rules, ""), "; "))
	}
	return text + "}\n"
}

// pairRules returns the rules that drop the frames from one host to another. On the same
// switch they match the ports. Between two switches there is a router, so the first host's
// switch drops by destination address.
func pairRules(from, to *Node, sw string) (rules []string) {
	direct := false
	for _, nic := range from.NICs {
		direct = direct || to.on(nic.Switch) != nil
	}
	for _, in := range from.patterns(sw) {
		for _, out := range to.patterns(sw) {
			rules = append(rules, fmt.Sprintf("iifname %q oifname %q drop", in, out))
		}
		if direct {
			continue
		}
		for _, nic := range to.NICs {
			for _, a := range nic.Addresses {
				rules = append(rules, fmt.Sprintf("iifname %q %s daddr %s drop", in, heddle.FamilyOf(a.Addr()).Word(), a.Addr()))
			}
		}
	}
	return rules
}

// patterns returns the names of a node's ports on a switch, including those of relays and
// spare NICs.
func (n *Node) patterns(sw string) (all []string) {
	for i := range len(n.NICs) + n.Spare {
		if n.nic(i).Switch == sw {
			port := portName(n.Name, i)
			all = append(all, port, relayPort(port))
		}
	}
	return all
}

// nft runs nft(8) with the text in the host.
func (h *Host) nft(ctx context.Context, text string) error {
	cmd, err := h.Command(ctx, "nft", "-f", "-")
	if err != nil {
		return err
	}
	cmd.Stdin = strings.NewReader(text)
	var words bytes.Buffer
	cmd.Stderr = &words
	if err := cmd.Run(); err != nil {
		return errors.Join(errors.New("nft in "+h.Name+": "+strings.TrimSpace(words.String())), err)
	}
	return nil
}
