package runtimes_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-network/heddle/crowd/live"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// talkers are people who ask for pages, and call each other.
const talkers = `
crowd: talkers
users: 4
clock: {start: "Mon 09:00", length: %s}
personas:
  talker: {share: 100%%, link: {delay: 5ms}, does: {read: 30/m, talk: 10/m}}
behaviours:
  read:
    start: page
    patience: 1m
    states:
      page: {do: web.page, sends: 300B, receives: 10KB, expect: 5ms, next: {end: 1}}
  talk:
    start: call
    patience: 1m
    states:
      call: {do: voice.call, sends: 160B, receives: 160B, every: 20ms, lasts: 500ms, next: {end: 1}}
`

// crowdOf plays with users who are containers of a client, on network blue: in peace, while it is scaled, and until it is killed. Afterwards count
// finds none of them.
func (h *host) crowdOf(as string, count func() int) {
	h.t.Helper()
	defer func(flags []string) {
		h.crash()
		h.flags = flags
		h.revive()
	}(h.flags)
	h.resolve()
	dir := h.t.TempDir()
	short, long, out := filepath.Join(dir, "short.yaml"), filepath.Join(dir, "long.yaml"), filepath.Join(dir, "report.json")
	write(h.t, short, fmt.Sprintf(talkers, "8s"))
	write(h.t, long, fmt.Sprintf(talkers, "10m"))
	gone := func(after string) {
		h.t.Helper()
		if left := count(); left != 0 {
			h.t.Errorf("after %s there are %d containers", after, left)
		}
		if left, err := cell.TrySh("ls /run/heddle-crowd"); err == nil {
			h.t.Errorf("after %s there are folders %s", after, left)
		}
	}
	said, err := cell.TrySh("heddle crowd run %s --network blue --as %s --out %s", short, as, out)
	if err != nil && !strings.Contains(said, "the crowd itself was late") {
		h.t.Fatalf("%v: %s", err, said)
	}
	r, err := report.Read(out)
	if err != nil || r.As != as {
		h.t.Fatalf("%v: as %q", err, r.As)
	}
	one := r.Rounds[0]
	if one.Behaviours["read"].Achieved == 0 || one.Behaviours["talk"].Achieved == 0 || len(one.Failures) > 0 {
		h.t.Errorf("not all of it went well: %s", said)
	}
	if one.Actions["dns.query"].Count == 0 {
		h.t.Errorf("nobody asked for a name: %+v", one.Actions)
	}
	gone("a run")

	h.begin(long, as)
	for _, users := range []int{6, 2} {
		if scaled := cell.Sh(h.t, "heddle crowd scale %d", users); count() != users {
			h.t.Errorf("%d users are %d containers: %s", users, count(), scaled)
		}
	}
	cell.Sh(h.t, "heddle crowd down")
	gone("its end")

	run := h.begin(long, as)
	if err := syscall.Kill(run.PID, syscall.SIGKILL); err != nil {
		h.t.Fatal(err)
	}
	world.Within(h.t, time.Minute, "it has ended", func() error {
		// a process that nobody has waited for is there as a zombie
		if said, err := cell.TrySh("grep State /proc/%d/status", run.PID); err == nil && !strings.Contains(said, "zombie") {
			return errors.New(said)
		}
		return nil
	})
	if said := cell.Sh(h.t, "heddle crowd down"); !strings.Contains(said, fmt.Sprintf("process %d", run.PID)) {
		h.t.Errorf("a crowd that was killed is not removed: %s", said)
	}
	gone("being killed")
}

// begin begins a run that lasts, and waits until it plays.
func (h *host) begin(file, as string) (run live.Run) {
	h.t.Helper()
	cell.Sh(h.t, "heddle crowd run %s --network blue --as %s >/dev/null 2>%[1]s.log &", file, as)
	world.Within(h.t, 2*time.Minute, "the crowd plays", func() error {
		said, err := cell.TrySh("heddle crowd status -o json")
		var all struct{ Items []live.Run }
		if err == nil {
			err = json.Unmarshal([]byte(said), &all)
		}
		if err == nil && (len(all.Items) != 1 || all.Items[0].Now == nil) {
			log, _ := cell.TrySh("cat %s.log", file)
			err = errors.New(said + log)
		}
		if err == nil {
			run = all.Items[0]
		}
		return err
	})
	return run
}

// tellCrowd has Podman make the users of a crowd.
func (p podman) tellCrowd() {
	p.run("a", "--network blue") // with CNI, the network comes into being with its first container
	p.crowdOf("podman", func() int {
		return len(strings.Fields(p.do("ps -aq --filter label=heddle.crowd")))
	})
}

// tellCrowd has LXC make the users of a crowd. Somebody who has the name of one is left alone.
func (x lxc) tellCrowd() {
	file := filepath.Join(x.t.TempDir(), "short.yaml")
	write(x.t, file, fmt.Sprintf(talkers, "1s"))
	cell.Sh(x.t, "ip netns add other && heddle attach blue --netns /run/netns/other --id crowd-user-3")
	if said, err := cell.TrySh("heddle crowd run %s --network blue --as lxc", file); err == nil || !strings.Contains(said, "container crowd-user-3: the agent has") {
		x.t.Errorf("the name of a user is taken: %v, %s", err, said)
	}
	if left := cell.Sh(x.t, "heddle endpoint list -q"); left != "crowd-user-3/eth0" {
		x.t.Errorf("left are %s", left)
	}
	cell.Sh(x.t, "heddle detach crowd-user-3 && ip netns del other")
	x.crowdOf("lxc", func() int {
		all, err := filepath.Glob("/run/heddle-crowd/*/lxc/*")
		if err != nil {
			x.t.Fatal(err)
		}
		return len(all)
	})
}
