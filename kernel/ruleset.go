package kernel

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// drift is how a firewall object in the kernel differs from the wanted one; detail describes the
// difference.
type drift struct {
	want heddle.Firewall
	// kind is "missing" or "differs", or "" if all is well.
	kind   string
	detail string
	// rebuild says that the object cannot be changed while it is in use.
	rebuild bool
}

// tables reads those of our tables that contain the objects.
func (s *session) tables(objects []heddle.Firewall) (map[string]*liveTable, error) {
	all := map[string]*liveTable{}
	for _, f := range objects {
		if all[f.Family] != nil {
			continue
		}
		t, err := s.nft.table(f.Family)
		if err != nil {
			return nil, err
		}
		all[f.Family] = t
	}
	return all, nil
}

// compareFirewall lists what is missing or different.
func compareFirewall(live map[string]*liveTable, objects []heddle.Firewall) []drift {
	var all []drift
	for _, f := range objects {
		d := live[f.Family].compare(f)
		if d.want = f; d.kind != "" {
			all = append(all, d)
		}
	}
	return all
}

func (t *liveTable) compare(f heddle.Firewall) drift {
	missing := drift{kind: "missing"}
	switch f.Kind {
	case "table":
		if !t.exists {
			return missing
		}
	case "counter":
		if _, there := t.counters[f.Name]; !there {
			return missing
		}
	case "set", "map":
		live, there := t.sets[f.Name]
		if !there {
			return missing
		}
		return compareSet(live, f)
	case "chain":
		live := t.chains[f.Name]
		if live == nil {
			return missing
		}
		return compareChain(live, f)
	}
	return drift{}
}

func compareSet(live liveSet, f heddle.Firewall) drift {
	t, known := firewall.TypeOf(f.Family, f.Name)
	if !known {
		return drift{}
	}
	want := liveSet{name: f.Name, isMap: t.Value != nil, keyLen: keyLen(t.Match), valueLen: keyLen(t.Value), ranges: t.Ranges}
	want.verdicts = want.isMap && t.Value[0] == firewall.TypeVerdict
	if live == want {
		return drift{}
	}
	return drift{kind: "differs", detail: fmt.Sprintf("want %+v, have %+v", want, live), rebuild: true}
}

func compareChain(live *liveChain, f heddle.Firewall) drift {
	spec, err := parseBaseSpec(f.Family, f.Spec)
	if err != nil {
		return drift{kind: "differs", detail: err.Error()}
	}
	have := baseSpec{kind: live.kind, hook: live.hook, priority: live.priority, policy: live.policy}
	if spec.hook < 0 {
		spec, have.kind, have.policy = baseSpec{hook: -1}, "", 0
	}
	if have != spec {
		d := drift{kind: "differs", detail: fmt.Sprintf("want %+v, have %+v", spec, have)}
		have.policy = spec.policy // the policy can be changed in place
		d.rebuild = have != spec
		return d
	}
	want := make([]string, len(f.Rules))
	for i, r := range f.Rules {
		want[i] = firewall.RuleComment(r)
	}
	if !slices.Equal(want, live.rules) {
		return drift{kind: "differs", detail: fmt.Sprintf("want rules %v, have %v", want, live.rules)}
	}
	return drift{}
}

// repairScript is the nft transaction that repairs the drifts. A chain with other rules is filled
// anew. A set of another type, or a base chain at another hook, is in use by rules and elements.
// Then the whole table is made anew, and its elements are missing until their own plans are
// applied.
func repairScript(drifts []drift, objects []heddle.Firewall) string {
	rebuilt, drifted := map[string]bool{}, map[string]bool{}
	var script strings.Builder
	for _, d := range drifts {
		drifted[d.want.Key()] = true
		if d.rebuild && !rebuilt[d.want.Family] {
			rebuilt[d.want.Family] = true
			fmt.Fprintf(&script, "delete table %s %s\n", d.want.Family, heddle.Mark)
		}
	}
	for _, d := range drifts {
		if d.kind == "differs" && !rebuilt[d.want.Family] {
			fmt.Fprintf(&script, "flush chain %s %s %s\n", d.want.Family, heddle.Mark, d.want.Name)
		}
	}
	var wanted []heddle.Firewall
	for _, f := range objects {
		if rebuilt[f.Family] || drifted[f.Key()] {
			wanted = append(wanted, f)
		}
	}
	return script.String() + firewall.Ruleset(wanted)
}

// runNft executes an nft script, which takes effect as a whole or not at all.
func (s *session) runNft(script string) error {
	if script == "" {
		return nil
	}
	return s.ns.Do(func() error {
		var words bytes.Buffer
		cmd := exec.Command("nft", "-f", "-")
		cmd.Stdin, cmd.Stderr = strings.NewReader(script), &words
		cmd.Env = append(os.Environ(), "LC_ALL=C") // nftErrno reads what it says
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("nft: %w: %s", err, firstLines(words.String()))
		}
		return nil
	})
}

// noObject is an error of nft about a table, chain or set that is not there: unix.ENOENT for those who ask.
type noObject struct{ error }

func (e noObject) Unwrap() []error { return []error{e.error, unix.ENOENT} }

// nftErrno tells the kernel's ENOENT from other errors of nft, which says the kernel's errors in words alone.
func nftErrno(err error) error {
	if strings.Contains(err.Error(), "No such file or directory") {
		return noObject{err}
	}
	return err
}

// firstLines keeps an error readable: nft quotes the offending line below its
// message.
func firstLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[:min(len(lines), 3)], " ")
}
