package attack_test

import (
	"testing"

	"github.com/heddle-network/heddle/test/world"
)

// attack is something a container should not be able to do.
type attack struct {
	name string
	// modes are those in which it makes sense: "bridge", "routed", or both.
	modes string
	// reason is the counter that must count it, by mode if they differ; empty
	// if the kernel drops it by itself.
	reason, reasonRouted string
	frames               func(s *scene) [][]byte
	// watch begins to look for success; what it returns says whether it came.
	watch func(t *testing.T, s *scene) func() bool
	// unguard takes away, besides the guard, what stands in the attack's way.
	unguard func(s *scene) string
	// certain says why no control is possible: not even an unguarded host
	// would let it succeed.
	certain string
}

func (a attack) in(mode string) bool { return a.modes == both || a.modes == mode }

func (a attack) counter(mode string) string {
	if mode == "routed" && a.reasonRouted != "" {
		return a.reasonRouted
	}
	return a.reason
}

const both = "both"

// unguarded takes the guard away.
const unguarded = "nft flush chain bridge heddle guard; nft flush chain inet heddle guard; nft flush chain inet heddle guard-port"

// TestAttacks runs all attacks in every mode, first against the guard, then
// without it. "bridge nf" is a host where bridged frames also pass the IP
// firewall, as docker wants it.
func TestAttacks(t *testing.T) {
	for _, setting := range []string{"bridge", "bridge nf", "routed"} {
		t.Run(setting, func(t *testing.T) {
			s := newScene(t, setting)
			t.Run("guarded", func(t *testing.T) { s.each(t, s.guarded) })
			if err := s.w.Close(); err != nil {
				t.Fatal(err)
			}
			s.w.Host.Sh(t, unguarded)
			t.Run("control", func(t *testing.T) { s.each(t, s.control) })
			s.w.Start(t)
			s.w.AuditEmpty(t)
		})
	}
}

func (s *scene) each(t *testing.T, run func(t *testing.T, a attack)) {
	count := 0
	for _, some := range [][]attack{linkAttacks(), arpAttacks(), addressAttacks(), discoveryAttacks(), hostAttacks(), networkAttacks()} {
		for _, a := range some {
			if a.in(s.mode) {
				count++
				t.Run(a.name, func(t *testing.T) { run(t, a) })
			}
		}
	}
	if least := map[string]int{"bridge": 30, "routed": 15}[s.mode]; count < least {
		t.Errorf("%d attacks, at least %d are meant to be", count, least)
	}
}

// guarded attacks in vain, and is counted.
func (s *scene) guarded(t *testing.T, a attack) {
	frames := a.frames(s)
	before := s.w.Status().Drops
	came := a.watch(t, s)
	s.attacker.Send(t, "eth0", frames...)
	if came() {
		t.Error("the attack succeeded")
	}
	reason := a.counter(s.mode)
	if got := s.w.Status().Drops[reason] - before[reason]; reason != "" && got < uint64(len(frames)) {
		t.Errorf("%d frames counted as %s, %d were sent", got, reason, len(frames))
	}
}

// control attacks the same host without its guard.
func (s *scene) control(t *testing.T, a attack) {
	if a.certain != "" {
		t.Log("no control: " + a.certain)
		return
	}
	if a.unguard != nil {
		s.w.Host.Sh(t, "%s", a.unguard(s))
	}
	came := a.watch(t, s)
	s.attacker.Send(t, "eth0", a.frames(s)...)
	if !came() {
		t.Error("the attack fails without the guard too: it proves nothing")
	}
}

// mark is in the payload of attacks that have one.
const mark = "attack-mark"

// arrives watches for the attack's frames on a link.
func arrives(at world.Place, link string) func(t *testing.T, s *scene) func() bool {
	return func(t *testing.T, _ *scene) func() bool {
		c := at.Capture(t, link)
		return func() bool {
			return world.Count(c.Stop(), func(f world.Frame) bool { return !f.Out && world.Contains(mark)(f) }) > 0
		}
	}
}

// atVictim watches for the frames at the victim.
func atVictim(t *testing.T, s *scene) func() bool { return arrives(s.victim.Place, "eth0")(t, s) }

// atOther watches for them at a container of another network.
func atOther(t *testing.T, s *scene) func() bool { return arrives(s.other.Place, "eth0")(t, s) }

// atBridge watches for them where the host itself listens.
func atBridge(t *testing.T, s *scene) func() bool {
	return arrives(s.w.Host, s.net.BridgeName(0))(t, s)
}
