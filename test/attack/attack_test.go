package attack_test

import (
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
	"github.com/heddle-network/heddle/test/world"
)

// attack is something a container should not be able to do.
type attack struct {
	// class is the id of the attack's class, see classes.
	class, name string
	// modes are those in which it makes sense.
	modes string
	// reason is the counter that must count it, by mode if they differ; empty
	// if the kernel drops it by itself.
	reason, reasonRouted string
	// counted is how many frames the reason counts, if not all that are sent.
	counted uint64
	frames  func(s *scene) [][]byte
	// watch begins to look for success; what it returns says whether it came.
	watch func(t *testing.T, s *scene) func() bool
	// try is an attack that takes more than frames; it says whether it succeeded.
	try func(t *testing.T, s *scene) bool
	// unguard takes away, besides the guard, what stands in the attack's way.
	unguard func(s *scene) string
	// certain says why no control is possible: not even an unguarded host
	// would let it succeed. certainNF says so of a host where bridged frames
	// pass the IP firewall.
	certain, certainNF string
	// limit says why nothing on the host can prevent it. It is then expected to
	// succeed, so that what the documents admit stays true.
	limit string
}

const (
	bridged  = "bridge"
	isRouted = "routed overlay" // whose ports are routed
	both     = bridged + " " + isRouted
)

func (a attack) in(mode string) bool { return strings.Contains(" "+a.modes+" ", " "+mode+" ") }

func (a attack) counter(mode string) string {
	if contains(isRouted, mode) && a.reasonRouted == none {
		return ""
	}
	if contains(isRouted, mode) && a.reasonRouted != "" {
		return a.reasonRouted
	}
	return a.reason
}

// attacks lists them all.
func attacks() []attack {
	var all []attack
	for _, some := range [][]attack{linkAttacks(), arpAttacks(), addressAttacks(), discoveryAttacks(), fragmentAttacks(), groupAttacks(),
		hostAttacks(), tunnelAttacks(), errorAttacks(), protocolAttacks(), lanAttacks(), networkAttacks(), ownEndAttacks(), tableAttacks(), shareAttacks()} {
		all = append(all, some...)
	}
	return append(all, neighbourAttacks(all)...)
}

// unguarded takes the guard away.
const unguarded = `for c in guard guard-arp guard-ip4 guard-ip6 guard-icmp6; do nft flush chain bridge heddle $c; done
	for c in guard guard-port guard-icmp guard-host; do nft flush chain inet heddle $c; done`

// TestAttacks runs all attacks in every mode, first against the guard, then
// without it. "bridge nf" is a host where bridged frames also pass the IP
// firewall, as docker wants it; on "bridge tap" the attackers are virtual machines.
func TestAttacks(t *testing.T) {
	ran := tally{}
	for i, setting := range []string{"bridge", "bridge nf", "bridge tap", "routed", "overlay", isMacvlan, isIPvlan, isDirect} {
		t.Run(setting, func(t *testing.T) {
			s := newScene(t, setting)
			calm := func() {}
			if setting != isDirect { // whose NICs are all taken
				calm = s.ordinary(t)
			}
			t.Run("guarded", func(t *testing.T) {
				s.each(t, func(t *testing.T, a attack) {
					s.guarded(t, a)
					ran.did(a.name, s.mode)
				})
			})
			calm()
			if err := s.w.Close(); err != nil {
				t.Fatal(err)
			}
			if setting != isDirect { // which has no guard
				s.w.Host.Sh(t, unguarded)
			}
			s.open = true
			if !s.tap && (!s.nf || !vm.InGuest()) { // without the guard, these are the attacks of mode bridge once more
				t.Run("control", func(t *testing.T) {
					soak.Turn(t, i%soak.Turns)
					s.each(t, s.control)
				})
			}
			s.w.Start(t)
			// what the rogue has changed in its own namespace, an audit tells, and another attach mends
			s.rogue.Join(t, "net")
			s.w.AuditEmpty(t)
		})
	}
	for _, a := range attacks() {
		ran.complete(t, a.listing())
	}
}

func (s *scene) each(t *testing.T, run func(t *testing.T, a attack)) {
	count := 0
	for _, a := range attacks() {
		if a.in(s.mode) {
			count++
			t.Run(a.name, func(t *testing.T) { run(t, a) })
		}
	}
	if least := map[string]int{"bridge": 60, "routed": 40, "overlay": 40, isMacvlan: 30, isIPvlan: 10, isDirect: 20}[s.mode]; count < least {
		t.Errorf("%d attacks, at least %d are meant to be", count, least)
	}
}

// mount carries out the attack, and says whether it succeeded and how many
// frames it sent.
func (s *scene) mount(t *testing.T, a attack) (succeeded bool, sent uint64) {
	if a.try != nil {
		return a.try(t, s), 1
	}
	frames := a.frames(s)
	came := a.watch(t, s)
	s.attacker.Send(t, "eth0", frames...)
	return came(), uint64(len(frames))
}

// succeeds mounts an attack that should succeed.
func (s *scene) succeeds(t *testing.T, a attack) bool {
	return s.wins(func() bool {
		succeeded, _ := s.mount(t, a)
		return succeeded
	})
}

// guarded attacks in vain, and is counted; an admitted attack succeeds.
func (s *scene) guarded(t *testing.T, a attack) {
	if a.limit != "" {
		if !s.succeeds(t, a) {
			t.Errorf("the attack fails, though it is listed as a limit (%s)", a.limit)
		}
		return
	}
	before := s.w.Status().Drops
	succeeded, sent := s.mount(t, a)
	if succeeded {
		t.Error("the attack succeeded")
	}
	if a.counted != 0 {
		sent = a.counted
	}
	reason := a.counter(s.mode)
	counted := func() bool { return s.w.Status().Drops[reason]-before[reason] >= sent }
	if reason != "" && !within(world.Patience, counted) {
		t.Errorf("want %d frames counted as %s; before %v, after %v", sent, reason, before, s.w.Status().Drops)
	}
}

// control attacks the same host without its guard.
func (s *scene) control(t *testing.T, a attack) {
	why := a.certain
	if s.nf && why == "" {
		why = a.certainNF
	}
	if why != "" || a.limit != "" {
		t.Log("no control: " + why + a.limit)
		return
	}
	if a.unguard != nil {
		s.w.Host.Sh(t, "%s", a.unguard(s))
	}
	if !s.succeeds(t, a) {
		t.Error("the attack fails without the guard too: it proves nothing")
	}
}

// mark is in the payload of attacks that have one.
const mark = "attack-mark"

// atVictim watches for the frames at the victim.
func atVictim(t *testing.T, s *scene) func() bool { return s.arrives(t, s.victim.Netns, "eth0") }

// atOther watches for them at a container of another network.
func atOther(t *testing.T, s *scene) func() bool { return s.arrives(t, s.other.Netns, "eth0") }

// atOutside watches for them outside.
func atOutside(t *testing.T, s *scene) func() bool { return s.arrives(t, s.w.Outside, "eth0") }

// atBridge watches for them where the host itself listens.
func atBridge(t *testing.T, s *scene) func() bool {
	return s.arrives(t, s.w.Host, s.net.BridgeName(0))
}
