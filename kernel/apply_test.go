package kernel

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/commands"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/soak"
)

func (r *room) apply(p heddle.Plan) []string {
	r.t.Helper()
	pod := r.podNS
	if p.Pod.Empty() {
		pod = nil
	}
	made, err := r.k.Apply(p, pod)
	cell.Must(r.t, err)
	return made
}

func (r *room) clean(p heddle.Plan) {
	r.t.Helper()
	diff, err := r.k.Diff(p, r.podNS)
	cell.Must(r.t, err)
	if len(diff) > 0 {
		r.t.Fatalf("not as planned: %v", diff)
	}
}

// Each plan is applied twice. The second time nothing is made, and the kernel reports no change.
func TestApplyTwice(t *testing.T) {
	for _, s := range scenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel() // most of the time is waiting for silence
			r := newRoom(t)
			r.sh(uplinkScript)
			for _, p := range []heddle.Plan{s.netPlan, s.endpoint(0)} {
				all := len(p.Host.Objects()) + len(p.Pod.Objects())
				if made := r.apply(p); len(made) == 0 && all > 0 || len(made) > all {
					t.Errorf("made %d of %d objects", len(made), all)
				}
				r.clean(p)
				events := r.events(func() {
					if made := r.apply(p); len(made) != 0 {
						t.Errorf("the second time made %v", made)
					}
				})
				if events != "" {
					t.Errorf("the second time changed something:\n%s", events)
				}
			}
		})
	}
}

// events are what ip monitor and nft monitor print while do runs.
func (r *room) events(do func()) string {
	r.t.Helper()
	for _, args := range [][]string{{r.host, "ip", "monitor", "all"}, {r.pod, "ip", "monitor", "all"}, {r.host, "nft", "monitor"}} {
		out, err := os.CreateTemp(r.t.TempDir(), "monitor")
		cell.Must(r.t, err)
		cmd := exec.Command("ip", append([]string{"netns", "exec"}, args...)...)
		cmd.Stdout = out
		cell.Must(r.t, cmd.Start())
		r.monitors = append(r.monitors, monitor{cmd, out})
	}
	before := r.silent()
	do()
	time.Sleep(300 * time.Millisecond)
	after := r.printed()
	all := ""
	for i, m := range r.monitors {
		m.cmd.Process.Kill()
		m.cmd.Wait()
		all += strings.TrimPrefix(after[i], before[i])
	}
	r.monitors = nil
	return ageing.ReplaceAllString(all, "")
}

// silent waits until the monitors listen and earlier changes have settled: a link that has come up
// is busy for some seconds. It returns what the monitors printed.
func (r *room) silent() []string {
	r.t.Helper()
	time.Sleep(4 * time.Second)
	all, since := r.printed(), time.Now()
	poll.Until(30*time.Second, 100*time.Millisecond, poll.True(func() bool {
		if now := r.printed(); !slices.Equal(now, all) {
			all, since = now, time.Now()
		}
		return time.Since(since) >= 2*time.Second
	}))
	return all
}

// ageing matches what the kernel does by itself: it forgets entries for multicast addresses to
// which it sent a report.
var ageing = regexp.MustCompile(`(?m)^.*\[NEIGH\].* NOARP *\n`)

type monitor struct {
	cmd *exec.Cmd
	out *os.File
}

func (r *room) printed() (all []string) {
	for _, m := range r.monitors {
		b, err := os.ReadFile(m.out.Name())
		cell.Must(r.t, err)
		all = append(all, string(b))
	}
	return all
}

// The commands that a plan prints make what Apply makes, and the reverse.
func TestCommandsEqualApply(t *testing.T) {
	for i, s := range scenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			soak.Turn(t, i%soak.Turns)
			typed, made := newRoom(t), newRoom(t)
			plans := []heddle.Plan{s.netPlan, s.endpoint(0)}
			for _, r := range []*room{typed, made} {
				r.sh(uplinkScript)
			}
			for _, p := range plans {
				typed.sh(strings.Join(commands.Of(p, typed.pod), "\n"))
				typed.apply(heddle.Plan{Host: p.Host.Filter(fast)}) // no command makes these
				made.apply(p)
			}
			for _, p := range plans {
				typed.clean(p)
				if again := typed.apply(p); len(again) != 0 {
					t.Errorf("Apply after the commands made %v", again)
				}
			}
			names := sysctlNames(plans...)
			sameText(t, "commands and Apply", anonymous(typed, typed.steady(names...), plans), anonymous(made, made.steady(names...), plans))
		})
	}
}

// fast reports whether an object belongs to the fast path.
func fast(o heddle.Object) bool {
	switch o.(type) {
	case heddle.Program, heddle.Shortcut, heddle.Remote:
		return true
	}
	return false
}

// anonymous removes from a dump what differs between rooms: names, numbers and addresses that no
// plan sets.
func anonymous(r *room, dump string, plans []heddle.Plan) string {
	planned := fmt.Sprintf("%+v", plans)
	dump = volatileWords.ReplaceAllString(dump, "$1-")
	dump = macWords.ReplaceAllStringFunc(dump, func(mac string) string {
		if strings.Contains(planned, mac) {
			return mac
		}
		return "MAC"
	})
	return strings.NewReplacer(r.host, "HOST", r.pod, "POD").Replace(dump)
}

var macWords = regexp.MustCompile(`[0-9a-f]{2}(:[0-9a-f]{2}){5}`)

var errInjected = errors.New("injected")

// stepsOf counts the steps of an Apply or Remove.
func (r *room) stepsOf(do func() error) int {
	r.t.Helper()
	n := 0
	r.k.Tripwire = func(string) error { n++; return nil }
	cell.Must(r.t, do())
	r.k.Tripwire = nil
	return n
}

// failAt makes the nth step fail.
func (r *room) failAt(n int) (name *string) {
	name = new(string)
	r.k.Tripwire = func(step string) error {
		if n--; n != 0 {
			return nil
		}
		*name = step
		return errInjected
	}
	return name
}

// A failure at any step of Apply leaves things as they were (see soak.Next).
func TestApplyAllOrNothing(t *testing.T) {
	for i, s := range scenarios(t) {
		for part, plan := range map[string]heddle.Plan{"network": s.netPlan, "endpoint": s.endpoint(0)} {
			t.Run(s.name+"/"+part, func(t *testing.T) {
				soak.Turn(t, i%soak.Turns)
				r, counting := newRoom(t), newRoom(t)
				for _, r := range []*room{r, counting} {
					r.sh(uplinkScript)
					// The first time that it is set up changes a loopback for good (its queue).
					r.sh("ip -n " + r.pod + " link set lo up; ip -n " + r.pod + " link set lo down; ip -n " + r.pod + " address flush dev lo")
					if part == "endpoint" {
						r.settled(s)
					}
				}
				steps := counting.stepsOf(func() error { counting.apply(plan); return nil })
				names := sysctlNames(plan)
				before := r.steady(names...)
				for n := soak.Next(t, 0); n <= steps; n = soak.Next(t, n) {
					name := r.failAt(n)
					made, err := r.k.Apply(plan, r.podNS)
					r.k.Tripwire = nil
					if !errors.Is(err, errInjected) || made != nil || heddle.KindOf(err) != heddle.Failed {
						t.Fatalf("step %d (%s): made %v, error %v", n, *name, made, err)
					}
					r.becomes(fmt.Sprintf("after a failure at step %d (%s)", n, *name), before, names...)
				}
				t.Logf("%d steps", steps)
			})
		}
	}
}

// settled applies the scenario's network. A bridge gets a port of somebody else: the kernel changes
// many settings of a bridge with its first port, and more when the last one leaves.
func (r *room) settled(s scenario) {
	r.t.Helper()
	r.apply(s.netPlan)
	for _, l := range s.netPlan.Host.Links {
		if l.Kind != "bridge" {
			continue
		}
		r.sh("ip link add other0 mtu 1400 type veth peer other1; ip link set other0 addrgenmode none; ip link set other1 addrgenmode none\n" +
			"ip link set other1 up; ip link set other0 master " + l.Name + " up\n" +
			"tries=0\nuntil bridge link show dev other0 | grep -q 'state forwarding'; do tries=$((tries + 1)); [ $tries -lt 300 ]; sleep 0.1; done")
	}
}

func contains(p heddle.Plan, key string) bool {
	for _, o := range append(p.Host.Objects(), p.Pod.Objects()...) {
		if o.Key() == key {
			return true
		}
	}
	return false
}

// An address that the kernel refuses because IPv6 is off is reported as such, not as a lack of
// rights of the agent.
func TestApplyWithoutIPv6(t *testing.T) {
	r := newRoom(t)
	r.sh("echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6")
	var p heddle.Plan
	p.Host.Links = []heddle.Link{{Name: "hbsix", Kind: "bridge"}}
	p.Host.Addresses = []heddle.Address{{Link: "hbsix", Prefix: netip.MustParsePrefix("fd00:6::1/64")}}
	_, err := r.k.Apply(p, nil)
	if !errors.Is(err, heddle.KernelRefused.Sentinel()) || !strings.Contains(fmt.Sprint(err), "IPv6 is off there") {
		t.Errorf("%v", err)
	}
}
