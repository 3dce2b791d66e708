package coexist

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"

	"github.com/coreos/go-iptables/iptables"
)

// legacyWait is how many seconds to wait for the lock of xtables. A restore of many rules holds it
// for a second or two.
const legacyWait = 5

// legacyForward is the chain FORWARD of one family's legacy filter table, the only firewall in the
// kernel that nftables does not see.
type legacyForward struct {
	proto   iptables.Protocol
	names   string // lists the tables in use
	program string
	path    string
	tool    *iptables.IPTables
	note    string
}

func newLegacyForwards() []*legacyForward {
	return []*legacyForward{
		{proto: iptables.ProtocolIPv4, names: "/proc/thread-self/net/ip_tables_names", program: "iptables-legacy"},
		{proto: iptables.ProtocolIPv6, names: "/proc/thread-self/net/ip6_tables_names", program: "ip6tables-legacy"},
	}
}

// legacyChain is a chain as iptables -S lists it: the lines of others' rules, and our rules, each
// with the number of others' rules before it.
type legacyChain struct {
	theirs []string
	ours   []legacyOwn
}

type legacyOwn struct {
	line, mark string
	behind     int
}

func (l *legacyForward) admit() (changed []string, err error) {
	drops, chains, err := l.read()
	if err != nil || chains == nil {
		return nil, err
	}
	steps := map[string][]step{}
	for name, c := range chains {
		for _, line := range c.theirs {
			steps[name] = append(steps[name], legacyStep(line, chains))
		}
	}
	found, shared := insertPositions("FORWARD", drops, steps)
	for _, name := range shared {
		l.note = l.program + " " + name + " ends with a drop of all that is left, and is led to by closer rules, too: accept forwarding by " +
			heddle.PrefixBridge + "+ and " + heddle.PrefixPort + "+ before it"
	}
	for name, c := range chains {
		i := slices.IndexFunc(found, func(p insertPosition) bool { return p.chain == name })
		if i < 0 {
			err = errors.Join(err, l.take(c.ours))
		} else if before := found[i].before; !c.settled(name, before) {
			more, perr := l.put(name, c, before)
			changed, err = append(changed, more...), errors.Join(err, perr)
		}
	}
	return changed, err
}

func (c legacyChain) settled(name string, behind int) bool {
	if len(c.ours) != len(admissions) {
		return false
	}
	for i, a := range admissions {
		if c.ours[i].behind != behind || c.ours[i].line != a.legacyLine(name, c.ours[0].mark) {
			return false
		}
	}
	return true
}

// spare returns the mark that fewer of our rules have, the rules with that mark, and the rules
// without it.
func (c legacyChain) spare() (mark string, with, without []legacyOwn) {
	marked := map[string][]legacyOwn{}
	for _, o := range c.ours {
		marked[o.mark] = append(marked[o.mark], o)
	}
	one, again := marked[admitMark], marked[admitMarkAgain]
	if len(one) <= len(again) {
		return admitMark, one, again
	}
	return admitMarkAgain, again, one
}

// put adds our rules behind the given number of others' rules, and then removes our old rules, so
// that no packet meets the chain without them. Others may change the chain at the same time. Then a
// new rule may be off by one position; the next Admit corrects this.
func (l *legacyForward) put(name string, c legacyChain, behind int) (typed []string, err error) {
	mark, stray, old := c.spare()
	if err := l.take(stray); err != nil { // rules of an earlier put that was interrupted
		return nil, err
	}
	c.ours = old
	at := behind + 1
	for _, o := range c.ours {
		if o.behind < behind {
			at++
		}
	}
	for i, a := range admissions {
		if err := l.tool.Insert("filter", name, at+i, a.iptables(mark)...); err != nil {
			return typed, heddle.Wrap(heddle.KernelRefused, "insert our accept rules into", l.program+" "+name, err, l.seeRules())
		}
		typed = append(typed, l.typed(name, at+i, a, mark))
	}
	return typed, l.take(c.ours)
}

// take removes rules of ours by their text and never by their position, since somebody may have
// inserted rules before them after they were read. A rule that is gone is no error.
func (l *legacyForward) take(ours []legacyOwn) error {
	for _, o := range ours {
		words := strings.Fields(o.line) // -A CHAIN RULE
		err := l.tool.Delete("filter", words[1], words[2:]...)
		var said *iptables.Error
		if err != nil && !(errors.As(err, &said) && said.IsNotExist()) {
			return heddle.Wrap(heddle.KernelRefused, "remove our accept rule from", l.program+" "+words[1], err, l.seeRules())
		}
	}
	return nil
}

func (l *legacyForward) withdraw() error {
	_, chains, err := l.read()
	for _, c := range chains {
		err = errors.Join(err, l.take(c.ours))
	}
	return err
}

func (l *legacyForward) admitted() ([]string, error) {
	_, chains, err := l.read()
	var all []string
	for name, c := range chains {
		for i, o := range c.ours {
			for _, a := range admissions {
				if o.line == a.legacyLine(name, o.mark) {
					all = append(all, l.typed(name, o.behind+i+1, a, o.mark))
				}
			}
		}
	}
	return all, err
}

// read lists the filter table as iptables -S does, without quotes; nothing if the table is not in
// use. Without this check iptables would load the table, and every packet would pay for it from
// then on.
func (l *legacyForward) read() (drops bool, chains map[string]legacyChain, err error) {
	l.note = ""
	if !l.inUse() {
		return false, nil, nil
	}
	if err := l.find(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			l.note = "legacy xtables rules are in use, but " + l.program + " is not installed: whether they let our traffic pass is not known"
			return false, nil, nil
		}
		return false, nil, heddle.Wrap(heddle.KernelRefused, "find", l.program, err, "install it anew")
	}
	out, err := exec.Command(l.path, "-w", strconv.Itoa(legacyWait), "-t", "filter", "-S").Output()
	if err != nil {
		return false, nil, heddle.Wrap(heddle.KernelRefused, "list the rules of", l.program, err, l.seeRules())
	}
	chains = map[string]legacyChain{}
	for line := range strings.Lines(strings.ReplaceAll(string(out), `"`, "")) {
		words := strings.Fields(line)
		switch {
		case len(words) < 2:
		case words[0] == "-P":
			chains[words[1]] = legacyChain{}
			drops = drops || words[1] == "FORWARD" && words[2] == "DROP"
		case words[0] == "-N":
			chains[words[1]] = legacyChain{}
		default:
			c := chains[words[1]]
			c.add(strings.TrimSpace(line))
			chains[words[1]] = c
		}
	}
	return drops, chains, nil
}

func (c *legacyChain) add(line string) {
	for _, mark := range []string{admitMark, admitMarkAgain} {
		if strings.Contains(line, " --comment "+mark+" ") {
			c.ours = append(c.ours, legacyOwn{line, mark, len(c.theirs)})
			return
		}
	}
	c.theirs = append(c.theirs, line)
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

// find looks for the program until it exists; it may be installed later.
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
	l.path = path
	l.tool, err = iptables.New(iptables.IPFamily(l.proto), iptables.Path(path), iptables.Timeout(legacyWait))
	return err
}

func (l *legacyForward) typed(chain string, at int, a admission, mark string) string {
	return strings.Join(append([]string{l.program, "-I", chain, strconv.Itoa(at)}, a.iptables(mark)...), " ")
}

func (a admission) legacyLine(chain, mark string) string {
	return "-A " + chain + " " + strings.Join(a.iptables(mark), " ")
}

// legacyStep is the step for a rule of somebody else.
func legacyStep(line string, chains map[string]legacyChain) (s step) {
	words := strings.Fields(line)
	s.does = tells
	for i := 2; i < len(words); i++ {
		arg := ""
		if i+1 < len(words) {
			arg = words[i+1]
		}
		switch words[i] {
		case "-j", "-g":
			s.legacyTarget(arg, chains)
			if s.under == byProtocol && arg != "REJECT" {
				s.under = closely
			}
			return s // all other arguments are the target's own
		case "-i", "-o":
			s.under = max(s.under, byInterface)
			if strings.HasPrefix(arg, heddle.PrefixBridge) || strings.HasPrefix(arg, heddle.PrefixPort) {
				s.under = closely // the rule names an interface of ours on purpose
			}
			i++
		case "-p":
			s.under = max(s.under, byProtocol)
			i++
		case "-m":
			if arg != "comment" && arg != "tcp" && arg != "udp" && arg != "sctp" {
				s.under = closely
			}
			i++
		case "--comment":
			for i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
				i++
			}
		default: // "!", and the conditions of matches
			s.under = closely
		}
	}
	return s
}

func (s *step) legacyTarget(target string, chains map[string]legacyChain) {
	if _, known := chains[target]; known {
		s.does, s.target = leads, target
		return
	}
	s.xtables(target)
}

// seeRules is the remedy where the program refuses a request.
func (l *legacyForward) seeRules() string {
	return "see whether '" + l.program + " -S' works on the host"
}
