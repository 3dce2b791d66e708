package lab_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
)

// The test binary also runs as the lab's init, as a program with a socket like the agent's, and as a
// program that makes a lab and can be killed.
func TestMain(m *testing.M) {
	args := os.Args[1:]
	lab.Dispatch(args)
	switch {
	case len(args) == 0 && vm.InGuest():
		os.Exit(vm.Main(m))
	case len(args) > 0 && args[0] == "test-agent":
		listen(args[1:])
	case len(args) == 3 && args[0] == "test-count":
		countDatagrams(args[1], args[2])
	case len(args) == 3 && args[0] == "test-send":
		sendDatagrams(args[1], args[2])
	case len(args) == 1 && args[0] == "test-unstoppable":
		waitForChild()
	case len(args) == 2 && args[0] == "test-bound":
		makeBoundLab(args[1])
	case len(args) == 2 && args[0] == "test-up":
		makeLab(args[1])
	case os.Geteuid() == 0 && os.Getenv(quiet) == "":
		os.Exit(onQuietMachine())
	default:
		if os.Getenv(quiet) != "" {
			if err := clearRun(); err != nil {
				panic(err)
			}
		}
		os.Exit(m.Run())
	}
}

// TestInGuests repeats under Debian's kernels what a lab needs of one: namespaces,
// bridges, and the relays' TAPs and packet sockets. In make test, two tests are enough, and the oldest kernel:
// all of these are old.
func TestInGuests(t *testing.T) {
	soak.Turn(t, 2)
	g := vm.Guest{Modules: append(vm.DefaultModules(), "8021q"), Tools: vm.DefaultTools(), Small: map[string]string{"6.1": "^Test(RelayPasses|Beside)$"}}
	for _, name := range []string{"nice", "iperf3"} { // without iperf3 the test of throughput is left out
		if tool, err := exec.LookPath(name); err == nil {
			g.Tools = append(g.Tools, tool)
		}
	}
	g.RunEverywhere(t, "^Test(Beside|Cuts|RelayPasses|Weight)$")
}

// quiet is set in the environment of tests that have a machine to themselves.
const quiet = "HEDDLE_LAB_QUIET"

// onQuietMachine runs the tests again in their own network and mount namespaces. The tests compare
// surveys of the whole machine, which nothing else may change meanwhile. They do not change the real
// machine.
func onQuietMachine() int {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), quiet+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Unshareflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return cmd.ProcessState.ExitCode()
}

// clearRun gives the quiet machine a /run of its own, in memory as usual, and
// mounts that are shared, as systemd makes them: a host's must not get out.
func clearRun() error {
	// Copies of others' namespace mounts would vanish while we look.
	for syscall.Unmount("/run/netns", syscall.MNT_DETACH) == nil {
	}
	if err := syscall.Mount("", "/", "", syscall.MS_SHARED|syscall.MS_REC, ""); err != nil {
		return err
	}
	return syscall.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755")
}

func listen(args []string) {
	f := flag.NewFlagSet("test-agent", flag.ExitOnError)
	run, state := f.String("run-dir", "", ""), f.String("state-dir", "", "")
	name, fail := f.String("name", "", ""), f.Bool("fail", false, "")
	say := f.String("say", "", "")
	f.Parse(args)
	fmt.Println("agent", *name, "starts")
	fmt.Println("clock", os.Getenv(lab.ClockVariable))
	if *fail {
		fmt.Println("cannot weave")
		os.Exit(4)
	}
	for _, err := range []error{
		os.MkdirAll(*run, 0o755),
		os.WriteFile(filepath.Join(*state, "name"), []byte(*name), 0o644),
	} {
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	os.Remove(filepath.Join(*run, "heddle.sock"))
	l, err := net.Listen("unix", filepath.Join(*run, "heddle.sock"))
	for err == nil {
		var c net.Conn
		if c, err = l.Accept(); err == nil {
			fmt.Fprint(c, *name+*say)
			c.Close()
		}
	}
	fmt.Println(err)
}

// countDatagrams prints how many arrived, of so many, by two seconds after its
// standard input has ended, which says that the sender has.
func countDatagrams(port, most string) {
	c, err := net.ListenPacket("udp", ":"+port)
	if err != nil {
		panic(err)
	}
	c.SetReadDeadline(time.Now().Add(2 * time.Minute))
	go func() {
		io.Copy(io.Discard, os.Stdin)
		c.SetReadDeadline(time.Now().Add(2 * time.Second))
	}()
	all, _ := strconv.Atoi(most)
	n, buffer := 0, make([]byte, 2048)
	for n < all {
		if _, _, err := c.ReadFrom(buffer); err != nil {
			break
		}
		n++
	}
	fmt.Println(n)
}

func sendDatagrams(to, count string) {
	c, err := net.Dial("udp", to)
	if err != nil {
		panic(err)
	}
	n, _ := strconv.Atoi(count)
	for range n {
		c.Write(make([]byte, 100))
		time.Sleep(time.Millisecond)
	}
}

// waitForChild waits as after vfork(2): it stops on SIGSTOP only after its child has ended or executed
// another program, and this child does neither.
func waitForChild() {
	runtime.LockOSThread()
	if child, _, _ := syscall.RawSyscall6(syscall.SYS_CLONE, syscall.CLONE_VFORK|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0); child == 0 {
		for {
			syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
		}
	}
}

func makeLab(options string) {
	var o lab.Options
	if err := json.Unmarshal([]byte(options), &o); err != nil {
		panic(err)
	}
	o.Progress = func(s string) { fmt.Println(s) }
	if _, err := lab.Up(context.Background(), o); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// makeBoundLab waits to be killed.
func makeBoundLab(dir string) {
	t := lab.Topology{Name: "bound", Dir: dir, Bound: true, Hosts: []lab.Node{{Name: "host1"}, {Name: "host2", Router: true}},
		Agent: lab.Agent{Command: []string{os.Args[0], "test-agent"}}, Progress: func(s string) { fmt.Println(s) }}
	if _, err := lab.Raise(context.Background(), t); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	time.Sleep(time.Hour)
}

func testAgent(t testing.TB) []string {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{self, "test-agent"}
}

func needRoot(t testing.TB) {
	if os.Geteuid() != 0 {
		t.Skip("making namespaces needs root")
	}
}

// up makes a lab that is taken down, without a trace, when the test ends.
func up(t testing.TB, o lab.Options) *lab.Lab {
	t.Helper()
	needRoot(t)
	before := survey(t)
	o.Dir = t.TempDir()
	l, err := lab.Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(context.Background()); err != nil {
			t.Error(err)
		}
		noTrace(t, before, o.Dir)
	})
	return l
}

// in runs a command in a host and returns what it prints.
func in(t testing.TB, l *lab.Lab, host string, argv ...string) string {
	t.Helper()
	out, err := try(t, l, host, argv...)
	if err != nil {
		t.Fatalf("%s: %v: %v\n%s", host, argv, err, out)
	}
	return out
}

func try(t testing.TB, l *lab.Lab, host string, argv ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	out, err := command(t, ctx, l, host, argv...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func command(t testing.TB, ctx context.Context, l *lab.Lab, host string, argv ...string) *exec.Cmd {
	t.Helper()
	h, err := l.Host(host)
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := h.Command(ctx, argv...)
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}
