package lab_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/impair"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/lab/boot"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
)

// needMachines skips the test if there is no emulator, or fails if one is required.
func needMachines(t *testing.T, kernel string) {
	t.Helper()
	needRoot(t)
	reason := lab.MissingForMachines(kernel)
	switch {
	case reason == "":
	case os.Getenv("HEDDLE_REQUIRE_VM") == "1":
		t.Fatal(reason)
	default:
		t.Skip(reason)
	}
}

// machines is two virtual machines and a host of namespaces beside them.
func machines(t *testing.T, kernel string) *lab.Lab {
	t.Helper()
	needMachines(t, kernel)
	before := survey(t)
	start := time.Now()
	top := lab.Topology{Name: "machines", Dir: t.TempDir(), Machine: kernel, Agent: lab.Agent{Command: testAgent(t)},
		Hosts: []lab.Node{{Name: "host1", Slots: slots, Daemons: []lab.Daemon{{Name: "waiter", Command: []string{"sleep", "1000"}}}},
			{Name: "host2", NICs: []lab.NIC{{MTU: 1400}}}, {Name: "host3", Machine: lab.Namespaces}}}
	l, err := lab.Raise(t.Context(), top)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("two machines, with agents: up in %.1f s (%s)", time.Since(start).Seconds(), l.Hosts[0].Accelerator)
	t.Cleanup(func() {
		if err := l.Down(context.Background()); err != nil {
			t.Error(err)
		}
		noTrace(t, before, top.Dir)
	})
	return l
}

// TestMachines does to virtual machines what other tests do to namespaces: one lab
// for all, since each boot costs seconds.
func TestMachines(t *testing.T) {
	soak.Turn(t, 0)
	for _, kernel := range boot.Versions() {
		t.Run("linux-"+kernel, func(t *testing.T) {
			vm.SkipOther(t, kernel, "6.12")
			l := machines(t, kernel)
			if got := in(t, l, "host1", "uname", "-r"); !strings.HasPrefix(got, kernel+".") {
				t.Errorf("kernel %s, want %s", got, kernel)
			}
			for name, check := range map[string]func(*testing.T, *lab.Lab){
				"wires": machineWires, "commands": machineCommands, "files": machineFiles, "agents": machineAgents, "faults": machineFaults, "slots": machineSlots, "management": machineManagement, "clock": machineClock} {
				t.Run(name, func(t *testing.T) { check(t, l) })
			}
			t.Run("reset", func(t *testing.T) { machineReset(t, l) })
			t.Run("down", func(t *testing.T) { machineDown(t, l) })
		})
	}
}

// machineClock: a machine's time goes as fast as the host's.
func machineClock(t *testing.T, l *lab.Lab) {
	type look struct {
		before, after time.Time
		up            time.Duration
	}
	now := func() (n look) {
		n.before = time.Now()
		text, _, _ := strings.Cut(in(t, l, "host1", "cat", "/proc/uptime"), " ")
		n.after = time.Now()
		up, err := time.ParseDuration(text + "s")
		if err != nil {
			t.Fatal(err)
		}
		n.up = up
		return n
	}
	first := now()
	time.Sleep(time.Second)
	last := now()
	went := (last.up - first.up).Seconds()
	least, most := last.before.Sub(first.after).Seconds(), last.after.Sub(first.before).Seconds()
	if went < 0.98*least-0.02 || went > 1.02*most+0.02 { // it is told in hundredths of a second
		t.Errorf("%.2f s went by in the machine, %.2f to %.2f s outside", went, least, most)
	}
}

// machineDown: a command in a machine ends with the lab, and does not keep it.
func machineDown(t *testing.T, l *lab.Lab) {
	cmd := command(t, t.Context(), l, "host1", "sh", "-c", "echo here; exec sleep 1000")
	var words bytes.Buffer
	cmd.Stderr = &words
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("here"))); err != nil {
		t.Error(err)
	}
	if err := l.Down(t.Context()); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(words.String(), "has ended") {
		t.Errorf("the command: %v, %s", err, words.String())
	}
}

func machineWires(t *testing.T, l *lab.Lab) {
	for _, pair := range [][2]string{{"host1", "172.31.240.12"}, {"host2", "fd99:172:31:240::11"}, {"host3", "172.31.240.11"}, {"host1", "fd99:172:31:240::1"}} {
		reaches(t, l, pair[0], pair[1], true)
	}
	in(t, l, "host1", "ping", "-c1", "-W20", "host3")
	if got := in(t, l, "host2", "cat", "/sys/class/net/eth0/mtu"); got != "1400" {
		t.Errorf("MTU %s", got)
	}
	// The control channel is hidden.
	if got := in(t, l, "host1", "ls", "/sys/class/net"); got != "eth0\nlo" {
		t.Errorf("NICs %q", got)
	}
	if a, b := in(t, l, "host1", "cat", "/sys/class/net/eth0/address"), "02:68:6c:00:00:0b"; a != b {
		t.Errorf("MAC %s, want %s", a, b)
	}
}

func machineCommands(t *testing.T, l *lab.Lab) {
	for _, c := range []struct {
		argv []string
		code int
	}{{[]string{"sh", "-c", "exit 7"}, 7}, {[]string{"true"}, 0}, {[]string{"no-such-command"}, 127}, {[]string{"/etc/passwd"}, 126}} {
		_, err := try(t, l, "host1", c.argv...)
		var exit *exec.ExitError
		if code := 0; errors.As(err, &exit) {
			code = exit.ExitCode()
			if code != c.code {
				t.Errorf("%v: exit code %d, want %d", c.argv, code, c.code)
			}
		} else if err != nil || c.code != 0 {
			t.Errorf("%v: %v, want exit code %d", c.argv, err, c.code)
		}
	}
	h := l.Hosts[0]
	cmd, err := h.Command(t.Context(), "sh", "-c", `cat; printf '%s %s' "$WORD" "$PWD" >&2; kill -TERM $$`)
	if err != nil {
		t.Fatal(err)
	}
	much := bytes.Repeat([]byte("heddle\n"), 100_000)
	var out, words bytes.Buffer
	cmd.Dir, cmd.Env = "/etc", append(os.Environ(), "WORD=weft")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(much), &out, &words
	err = cmd.Run()
	if !bytes.Equal(out.Bytes(), much) || words.String() != "weft /etc" {
		t.Errorf("%d bytes of %d came back, and %q", out.Len(), len(much), words.String())
	}
	if status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("ended with %v, want SIGTERM", err)
	}
	// If the caller ends, the command ends, and what it has started.
	ctx, cancel := context.WithCancel(t.Context())
	if cmd, err = h.Command(ctx, "sh", "-c", "sleep 986 & exec sleep 987"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sleeps := func() bool { _, err := try(t, l, "host1", "pgrep", "-fx", "sleep 987"); return err == nil }
	soon(t, "the command runs", sleeps)
	// A caller that is told to stop stops the command.
	stopped := func() bool {
		return in(t, l, "host1", "sh", "-c", `cut -d' ' -f3 /proc/$(pgrep -fx "sleep 987")/stat`) == "T"
	}
	cmd.Process.Signal(syscall.SIGTSTP)
	soon(t, "the command is stopped", stopped)
	cmd.Process.Signal(syscall.SIGCONT)
	soon(t, "the command goes on", func() bool { return !stopped() })
	cancel()
	cmd.Wait()
	soon(t, "the command is gone", func() bool { return !sleeps() })
	soon(t, "what it started is gone", func() bool { _, err := try(t, l, "host1", "pgrep", "-fx", "sleep 986"); return err != nil })
	// What a command that has ended left in the background goes on.
	in(t, l, "host1", "sh", "-c", "sleep 985 >/dev/null 2>&1 &")
	in(t, l, "host1", "true") // by then the machine knows that the first caller is gone
	in(t, l, "host1", "pkill", "-fx", "sleep 985")
}

// soon is eventually for an emulated processor.
func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	poll.For(t, 2*time.Minute, 100*time.Millisecond, what, ok)
}

// machineFiles: a machine sees this one's files, and what it writes stays there.
func machineFiles(t *testing.T, l *lab.Lab) {
	file := filepath.Join(t.TempDir(), "word")
	if err := os.WriteFile(file, []byte("warp"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := in(t, l, "host1", "sh", "-c", `cat "$0"; echo weft >"$0"; echo x >/etc/of-the-machine; cat "$0"`, file); got != "warpweft" {
		t.Errorf("the machine reads %q", got)
	}
	if b, _ := os.ReadFile(file); string(b) != "warp" {
		t.Errorf("this machine's file became %q", b)
	}
	if _, err := os.Stat("/etc/of-the-machine"); err == nil {
		t.Error("a machine writes to this one's /etc")
	}
	// A module that nobody named loads when it is asked for.
	in(t, l, "host1", "ip", "link", "add", "dummy7", "type", "dummy")
	in(t, l, "host1", "ip", "link", "delete", "dummy7")
}

func machineAgents(t *testing.T, l *lab.Lab) {
	ctx, h := t.Context(), l.Hosts[1]
	if got := ask(t, h); got != "host2" {
		t.Errorf("the agent says %q", got)
	}
	if err := l.KillAgent(ctx, "host2"); err != nil {
		t.Fatal(err)
	}
	if out, err := try(t, l, "host2", "pgrep", "-f", "test-agent --name"); err == nil {
		t.Errorf("the agent runs on: %s", out)
	}
	if err := h.StartAgent(ctx, "--say", "-again"); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, h); got != "host2-again" {
		t.Errorf("the agent says %q", got)
	}
	if log, _ := os.ReadFile(h.Log); strings.Count(string(log), "agent host2 starts") != 2 {
		t.Errorf("the agent's log is\n%s", log)
	}
	if err := l.Pause(ctx, "host2", false); err != nil {
		t.Fatal(err)
	}
	state := func() string {
		return in(t, l, "host2", "sh", "-c", `cut -d' ' -f3 /proc/$(pgrep -f "[t]est-agent --name")/stat`)
	}
	soon(t, "the agent is stopped", func() bool { return state() == "T" })
	if err := l.Continue(ctx, "host2"); err != nil {
		t.Fatal(err)
	}
	soon(t, "the agent goes on", func() bool { return state() != "T" })
}

func machineFaults(t *testing.T, l *lab.Lab) {
	ctx := t.Context()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(l.Cut(ctx, "host1", "host2", false))
	reaches(t, l, "host1", "172.31.240.12", false)
	reaches(t, l, "host1", "172.31.240.13", true)
	do(l.Heal(ctx, "host1", "host2"))
	reaches(t, l, "host1", "fd99:172:31:240::12", true)
	do(l.Impair(ctx, "host1", lab.Out, impair.Impairment{Loss: 1}))
	reaches(t, l, "host2", "172.31.240.11", false)
	do(l.Impair(ctx, "host1", lab.Out, impair.Impairment{}))
	reaches(t, l, "host2", "172.31.240.11", true)
	passes := func(size int) bool {
		_, err := try(t, l, "host1", "ping", "-n", "-c2", "-W5", "-M", "do", "-s", strconv.Itoa(size-28), "172.31.240.13")
		return err == nil
	}
	soon(t, "1500 bytes pass", func() bool { return passes(1500) })
	do(l.SetMTU(ctx, "host1", 1300, false))
	soon(t, "1300 bytes pass", func() bool { return passes(1300) })
	if got := in(t, l, "host1", "cat", "/sys/class/net/eth0/mtu"); got != "1300" || passes(1400) {
		t.Errorf("MTU 1300: the machine has %s, 1400 bytes pass: %v", got, passes(1400))
	}
	do(l.ClearFaults(ctx))
	soon(t, "1500 bytes pass again", func() bool { return passes(1500) })
	// All of a machine stands still, and what is asked for meanwhile runs.
	stopped := func() bool {
		return in(t, l, "host1", "sh", "-c", `for p in $(pgrep -fx "sleep 1000"; pgrep -f "[t]est-agent --name"); do cut -d' ' -f3 /proc/$p/stat; done`) == "T\nT"
	}
	do(l.Pause(ctx, "host1", true))
	if !stopped() || l.Faults().Paused["host1"] != "all" {
		t.Errorf("paused: the processes stand still: %v; the record says %v", stopped(), l.Faults().Paused)
	}
	do(l.ClearFaults(ctx))
	soon(t, "they go on", func() bool { return !stopped() })
}

// machineReset: a machine that lost its power comes back as it was made, at wires that are as they were.
func machineReset(t *testing.T, l *lab.Lab) {
	h, ctx := l.Hosts[0], t.Context()
	boot := []string{"cat", "/proc/sys/kernel/random/boot_id"}
	before := in(t, l, "host1", boot...)
	in(t, l, "host1", "touch", "/etc/written")
	for _, err := range []error{h.StartAgent(ctx), l.SetMTU(ctx, "host1", 1300, false), l.Reset(ctx, "host1")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if now := in(t, l, "host1", boot...); now == before {
		t.Error("it has not booted")
	}
	if got := in(t, l, "host1", "sh", "-c", "cat /sys/class/net/eth0/mtu; ls /etc/written 2>&1; pgrep -fc '[t]est-agent'; true"); !strings.HasPrefix(got, "1300\n") || !strings.Contains(got, "No such file") || !strings.HasSuffix(got, "\n0") {
		t.Errorf("it has %q", got)
	}
	reaches(t, l, "host1", "172.31.240.12", true)
	reaches(t, l, "host3", "172.31.240.11", true)
	for _, err := range []error{h.StartAgent(ctx), l.ClearFaults(ctx)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Reset(ctx, "host3"); !errors.Is(err, heddle.BadArgument.Sentinel()) {
		t.Errorf("a host without power is reset: %v", err)
	}
}

// If the maker is killed while its machines boot, none of them keeps running.
func TestKilledMakerOfMachines(t *testing.T) {
	soak.Turn(t, 1)
	kernel := boot.Versions()[0]
	needMachines(t, kernel)
	before, dir := survey(t), t.TempDir()
	options, err := json.Marshal(lab.Options{Dir: dir, Machine: kernel, NoAgent: true})
	if err != nil {
		t.Fatal(err)
	}
	maker := exec.Command("/proc/self/exe", "test-up", string(options))
	if err := maker.Start(); err != nil {
		t.Fatal(err)
	}
	var l *lab.Lab
	soon(t, "the machines boot", func() bool {
		l, err = lab.Load(dir, "lab")
		consoles, _ := filepath.Glob(filepath.Join(dir, "lab", "host*", "console.log"))
		return err == nil && len(consoles) == 2
	})
	maker.Process.Kill()
	maker.Wait()
	soon(t, "the machines are gone", func() bool { return !alive(l) })
	if err := l.Down(t.Context()); err != nil {
		t.Error(err)
	}
	noTrace(t, before, dir)
}

func alive(l *lab.Lab) bool {
	for _, h := range l.Hosts {
		if h.Alive() {
			return true
		}
	}
	return false
}
