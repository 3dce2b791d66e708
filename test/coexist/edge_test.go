package coexist_test

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/poll"
)

// TestLeavesAlone meets chains that stop nobody, our own tables, and hooks that
// do not concern us; then one of them begins to drop.
func TestLeavesAlone(t *testing.T) {
	l := newLab(t)
	l.nft(t, `
table inet heddle { chain forward { type filter hook forward priority filter - 10; policy drop; }; }
table ip mangle { chain FORWARD { type filter hook forward priority mangle; policy accept; tcp flags syn tcp option maxseg size set rt mtu; }; }
table ip filter {
	chain FORWARD { type filter hook forward priority filter; policy accept; counter; accept; }
	chain INPUT { type filter hook input priority filter; policy drop; }
	chain side { drop; }
}
table bridge strange { chain forward { type filter hook forward priority filter; policy accept; ip daddr 192.0.2.1 drop; }; }
table inet empty { chain forward { type filter hook forward priority 20; policy accept; }; }`)
	if changed := l.admit(t); len(changed) != 0 {
		t.Fatalf("Admit inserted %q", changed)
	}
	l.nft(t, "insert rule ip filter FORWARD jump side")
	l.nft(t, "add rule inet empty forward meta l4proto tcp reject with tcp reset; add rule inet empty forward reject")
	l.nft(t, "delete table inet heddle")
	l.opens(t, both, 8)
	l.closes(t, both)
}

// TestTheirWish meets an operator's own rule, inserted before ours later.
func TestTheirWish(t *testing.T) {
	l := newLab(t)
	l.nft(t, firewalldLike)
	l.opens(t, both, 4)
	l.nft(t, `insert rule inet firewalld filter_FORWARD iifname "hb1" drop`)
	if changed := l.admit(t); len(changed) != 0 {
		t.Fatalf("Admit went before the operator's rule: %q", changed)
	}
	l.nft(t, "flush chain inet firewalld filter_FORWARD; add rule inet firewalld filter_FORWARD drop")
	if changed := l.admit(t); len(changed) != 4 {
		t.Fatalf("after a flush, Admit inserted %q", changed)
	}
	l.mustPass(t, "after a flush")
}

// TestMissingOne meets a chain that lost one of the four.
func TestMissingOne(t *testing.T) {
	l := newLab(t)
	l.nft(t, firewalldLike)
	l.opens(t, both, 4)
	handle := find(t, `iifname "hd\*".*# handle (\d+)`, l.host(t, "nft", "-a", "list", "chain", "inet", "firewalld", "filter_FORWARD"))
	l.nft(t, "delete rule inet firewalld filter_FORWARD handle "+handle)
	changed := l.admit(t)
	want := fmt.Sprintf(`nft insert rule inet firewalld filter_FORWARD position %s iifname "hd*" counter accept comment "heddle:admit"`,
		find(t, `reject with.*# handle (\d+)`, l.host(t, "nft", "-a", "list", "chain", "inet", "firewalld", "filter_FORWARD")))
	if len(changed) != 4 || !slices.Contains(changed, want) {
		t.Fatalf("Admit inserted %q, want four, and %q", changed, want)
	}
	l.mustPass(t, "after the repair")
}

// TestOwned meets a table that a running process owns: nobody else may change
// it, and Admit says so and serves the others.
func TestOwned(t *testing.T) {
	l := newLab(t)
	l.own(t, `add table inet owned { flags owner; }; add chain inet owned forward { type filter hook forward priority 5; policy drop; }`)
	l.nft(t, firewalldLike)
	before := l.theirs(t)
	if changed := l.admit(t); len(changed) != 4 {
		t.Fatalf("beside an owned table, Admit inserted %q", changed)
	}
	l.admit(t)
	notes := l.c.Notes()
	if len(notes) != 1 || !strings.Contains(notes[0], "inet owned forward") {
		t.Fatalf("notes: %q", notes)
	}
	l.unchanged(t, before, "beside an owned table")
}

// own starts an nft that makes a table and keeps it as its owner.
func (l *lab) own(t *testing.T, command string) {
	t.Helper()
	cmd := exec.Command("nsenter", "--net=/run/netns/"+l.prefix+"host", "nft", "-i")
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); cmd.Wait() })
	fmt.Fprintln(stdin, command)
	poll.For(t, 2*time.Minute, 20*time.Millisecond, "nft -i makes a table", func() bool { return strings.Contains(l.dump(t), "table inet owned") })
}

func find(t *testing.T, pattern, in string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(in)
	if m == nil {
		t.Fatalf("no %s in:\n%s", pattern, in)
	}
	return m[1]
}

// TestNoLegacyProgram meets legacy tables in use with no program to change them.
func TestNoLegacyProgram(t *testing.T) {
	need(t, "iptables-legacy")
	l := newLab(t)
	l.dropForward(t, "iptables-legacy")
	l.in(t, "host", func() {
		// The thread's own mounts, in which the program cannot be run.
		if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
			t.Error(err)
			return
		}
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		if err := unix.Mount("/dev/null", "/usr/sbin/iptables-legacy", "", unix.MS_BIND, ""); err != nil {
			t.Error(err)
		}
		changed, err := l.c.Admit()
		if len(changed) != 0 || err != nil {
			t.Errorf("Admit without the program: %q, %v", changed, err)
		}
	})
	if notes := l.c.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "iptables-legacy is not installed") {
		t.Fatalf("notes: %q", notes)
	}
	l.opens(t, v4, 4)
	if notes := l.c.Notes(); len(notes) != 0 {
		t.Fatalf("notes with the program back: %q", notes)
	}
}
