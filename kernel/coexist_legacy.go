package kernel

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"

	heddle "github.com/heddle-network/heddle"

	"github.com/coreos/go-iptables/iptables"
)

// legacyWait is how many seconds to wait for whoever holds xtables' lock; a
// restore of many rules holds it for a second or two.
const legacyWait = 5

// legacyForward is the chain FORWARD of one family's legacy filter table: the
// one firewall of the kernel that nftables does not see.
type legacyForward struct {
	proto   iptables.Protocol
	names   string // lists the tables in use
	program string
	tool    *iptables.IPTables
	note    string
}

func newLegacyForwards() []*legacyForward {
	return []*legacyForward{
		{proto: iptables.ProtocolIPv4, names: "/proc/thread-self/net/ip_tables_names", program: "iptables-legacy"},
		{proto: iptables.ProtocolIPv6, names: "/proc/thread-self/net/ip6_tables_names", program: "ip6tables-legacy"},
	}
}

func (l *legacyForward) admit() (changed []string, err error) {
	rules, err := l.rules()
	if err != nil || !legacyMayDrop(rules) {
		return nil, err
	}
	// Each goes before the last, so the last comes first.
	for _, a := range slices.Backward(admissions) {
		if slices.Contains(rules, a.legacyLine()) {
			continue
		}
		if err := l.tool.Insert("filter", "FORWARD", 1, a.iptables()...); err != nil {
			return changed, heddle.Wrap(heddle.KernelRefused, "insert our accept rules into", l.program+" FORWARD", err, "")
		}
		changed = append(changed, l.typed(a))
	}
	slices.Reverse(changed)
	return changed, nil
}

func (l *legacyForward) withdraw() error {
	rules, err := l.rules()
	for _, a := range admissions {
		for _, line := range rules {
			if line != a.legacyLine() {
				continue
			}
			if derr := l.tool.Delete("filter", "FORWARD", a.iptables()...); derr != nil {
				err = errors.Join(err, heddle.Wrap(heddle.KernelRefused, "remove our accept rule from", l.program+" FORWARD", derr, ""))
			}
		}
	}
	return err
}

func (l *legacyForward) admitted() ([]string, error) {
	rules, err := l.rules()
	var all []string
	for _, a := range admissions {
		if slices.Contains(rules, a.legacyLine()) {
			all = append(all, l.typed(a))
		}
	}
	return all, err
}

// rules lists the chain as iptables -S does, without quotes; nothing if the
// table is not in use. Asking iptables first would load the table, and every
// packet would pay for it from then on.
func (l *legacyForward) rules() ([]string, error) {
	l.note = ""
	if !l.inUse() {
		return nil, nil
	}
	if err := l.find(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			l.note = "legacy xtables rules are in use, but " + l.program + " is not installed: whether they let our traffic pass is not known"
			return nil, nil
		}
		return nil, heddle.Wrap(heddle.KernelRefused, "start", l.program, err, "")
	}
	rules, err := l.tool.List("filter", "FORWARD")
	if err != nil {
		return nil, heddle.Wrap(heddle.KernelRefused, "list", l.program+" FORWARD", err, "")
	}
	for i := range rules {
		rules[i] = strings.ReplaceAll(rules[i], `"`, "")
	}
	return rules, nil
}

func (l *legacyForward) inUse() bool {
	f, err := os.Open(l.names)
	if err != nil {
		// A kernel without legacy tables has no such file.
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if lines.Text() == "filter" {
			return true
		}
	}
	return false
}

// find looks for the program until it is there: it may be installed later.
func (l *legacyForward) find() (err error) {
	if l.tool != nil {
		return nil
	}
	path, err := exec.LookPath(l.program)
	if err != nil {
		// A service's PATH often lacks the folder where iptables lives.
		if path, err = exec.LookPath("/usr/sbin/" + l.program); err != nil {
			return errors.Join(exec.ErrNotFound, err)
		}
	}
	l.tool, err = iptables.New(iptables.IPFamily(l.proto), iptables.Path(path), iptables.Timeout(legacyWait))
	return err
}

func (l *legacyForward) typed(a admission) string {
	return strings.Join(append([]string{l.program, "-I", "FORWARD"}, a.iptables()...), " ")
}

func (a admission) legacyLine() string {
	return "-A FORWARD " + strings.Join(a.iptables(), " ")
}

// legacyMayDrop reports whether the chain could drop: by its policy, by a
// target, or by a jump into somebody's chain.
func legacyMayDrop(rules []string) bool {
	for _, line := range rules {
		words := strings.Fields(line)
		if line == "-P FORWARD DROP" {
			return true
		}
		for i, w := range words[:max(len(words)-1, 0)] {
			if (w == "-j" || w == "-g") && !harmlessTargets[words[i+1]] {
				return true
			}
		}
	}
	return false
}
