package vm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-network/heddle/lab/boot"
	"github.com/heddle-network/heddle/lazyregexp"
)

// Guest is a virtual machine that runs the current test binary and nothing else.
type Guest struct {
	Kernel  boot.Kernel
	Modules []string      // kernel modules to load, dependencies come by themselves; nil means DefaultModules
	Tools   []string      // programs of this machine to have in the guest; nil means DefaultTools
	Own     []string      // programs that were built for the test, to have in ownFolder
	MemMiB  int           // memory; 0 means 512
	NICs    []string      // models of network interfaces ("virtio-net-pci", "e1000") that share a wire
	Args    []string      // the test binary's arguments
	Timeout time.Duration // from power-on to power-off; 0 means 45 minutes
	Boot    []string      // further kernel parameters, such as ipv6.disable=1
	Only    string        // the only kernel version in make test, see SkipOther; "" means all
	// Small is the pattern of the tests in make test, by kernel version; nil means all tests. Kernels that it
	// does not name are left out in make test.
	Small map[string]string
}

// Run boots the guest and waits for its power-off. It returns what the guest wrote to its console, kernel messages included,
// and the status its tests ended with. The error is about the guest (it hung, it crashed, it could not be started),
// not about its tests; exit is -1 then. The folder receives the scratch files "initramfs" and "console".
func (g Guest) Run(ctx context.Context, dir string) (console string, exit int, err error) {
	g = g.withDefaults()
	if err := g.writeInitramfs(filepath.Join(dir, "initramfs")); err != nil {
		return "", -1, fmt.Errorf("make the guest's initramfs: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, g.Timeout)
	defer cancel()
	qemuErr := g.qemu(ctx, dir)
	raw, err := os.ReadFile(filepath.Join(dir, "console"))
	if err != nil && qemuErr == nil {
		return "", -1, fmt.Errorf("read the guest's console: %w", err)
	}
	console = strings.ReplaceAll(string(raw), "\r", "")
	exit, ended := exitStatus(console)
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("run a guest with kernel %s: stopped after %s (%w): see where its console ends", g.Kernel.Version, g.Timeout, ctx.Err())
	case qemuErr != nil:
		err = fmt.Errorf("run a guest with kernel %s: %w", g.Kernel.Version, qemuErr)
	case !ended:
		err = fmt.Errorf("run a guest with kernel %s: it ended without an exit line: its kernel or a test crashed, or TestMain does not call vm.Main; see the end of its console", g.Kernel.Version)
	}
	if err != nil {
		exit = -1
	}
	return console, exit, err
}

func (g Guest) withDefaults() Guest {
	if g.Modules == nil {
		g.Modules = DefaultModules()
	}
	if g.Tools == nil {
		g.Tools = DefaultTools()
	}
	if g.MemMiB == 0 {
		g.MemMiB = 512
	}
	if g.Timeout == 0 {
		g.Timeout = 45 * time.Minute // on a busy machine, a guest has a fraction of a processor
	}
	return g
}

// qemu runs the emulator in the folder until the guest powers off or the context ends.
func (g Guest) qemu(ctx context.Context, dir string) error {
	args := []string{
		"-M", "q35", "-m", strconv.Itoa(g.MemMiB), "-smp", "1",
		"-accel", "tcg,thread=single,tb-size=192", // without a limit the translation cache grows beyond 1 GiB
		"-cpu", boot.Processor,
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "file:console",
		"-kernel", g.Kernel.Vmlinux, "-initrd", "initramfs",
		"-append", strings.Join(append([]string{boot.Parameters, boot.EmulatedParameters()}, g.Boot...), " ")}
	cmd := exec.CommandContext(ctx, boot.QEMU, append(args, g.wire()...)...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &stderr
	cmd.WaitDelay = 5 * time.Second
	// The emulator ends with the thread that started it, so that a killed test leaves none behind.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return errors.Join(fmt.Errorf("%s: %w", boot.QEMU, err), errors.New(strings.TrimSpace(stderr.String())))
	}
	return nil
}

// wire gives the guest its interfaces, on one hub. The first has the address 52:54:00:00:00:01.
func (g Guest) wire() (args []string) {
	for i, model := range g.NICs {
		args = append(args, "-netdev", fmt.Sprintf("hubport,id=wire%d,hubid=0", i),
			"-device", fmt.Sprintf("%s,netdev=wire%d,mac=52:54:00:00:00:%02x,romfile=", model, i, i+1))
	}
	return args
}

// exitLine is the last line that a guest prints.
const exitLine = "GUEST-EXIT"

var exitPattern = lazyregexp.New(`(?m)^` + exitLine + ` (\d+)$`)

// exitStatus finds the last exit line of a console.
func exitStatus(console string) (status int, found bool) {
	all := exitPattern.FindAllStringSubmatch(console, -1)
	if len(all) == 0 {
		return -1, false
	}
	status, err := strconv.Atoi(all[len(all)-1][1])
	return status, err == nil
}
