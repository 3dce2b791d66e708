package install_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle/lab/boot"
	"github.com/heddle-network/heddle/test/soak"
)

// machine boots a Debian with systemd under an emulated processor, runs
// testdata/machine.sh there with root as its /root, and returns the console.
func machine(t *testing.T, root string) string {
	t.Helper()
	need(t, "qemu-system-x86_64", "mkfs.ext4", "depmod", "modprobe", "cpio", "busybox")
	kernels := boot.Kernels()
	if len(kernels) == 0 {
		t.Skip("no kernel in the cache: run `make vm-kernels`")
	}
	kernel, tree, dir := kernels[0], debian(t, "systemd"), filepath.Dir(root)
	must(t, nil, "unshare", "-m", "test/install/testdata/image.sh", tree, filepath.Join(kernel.Dir, "lib/modules"), dir)

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64",
		"-M", "q35", "-m", "1536", "-smp", "1", "-accel", "tcg,thread=single,tb-size=256",
		"-cpu", boot.Processor,
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "file:console",
		"-drive", "file=disk,format=raw,if=virtio,cache=unsafe",
		"-kernel", kernel.Vmlinux, "-initrd", "initramfs",
		"-append", "console=ttyS0 quiet panic=-1 mitigations=off net.ifnames=0 systemd.show_status=no")
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = dir, &stderr, 5*time.Second
	// it ends with the thread that started it
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := time.Now()
	err := cmd.Run()
	console, _ := os.ReadFile(filepath.Join(dir, "console"))
	if err != nil {
		t.Errorf("the machine: %v %s", err, stderr.String())
	}
	t.Logf("the machine ran for %.0f s", time.Since(start).Seconds())
	return strings.ReplaceAll(string(console), "\r", "")
}

// TestSystemd installs, upgrades, removes and purges the package under a real
// systemd, by the guide's commands, with containers attached: in a container of
// this machine's kernel.
func TestSystemd(t *testing.T) {
	soak.Turn(t, 2)
	if testing.Short() {
		t.Skip("starts a whole Debian")
	}
	root := luggage(t)
	judge(t, startContainer(t, root).wait(t))
}

// TestSoakSystemd is TestSystemd on a machine of its own, with Debian's kernel.
func TestSoakSystemd(t *testing.T) {
	soak.Need(t, "boots a whole Debian under emulation: make vm-systemd")
	root := luggage(t)
	judge(t, machine(t, root))
}

// luggage is what /root of the Debian has: the package in two versions, what
// "make install" takes, the guide's commands, and the script.
func luggage(t *testing.T) (root string) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "root")
	for _, f := range []string{"one", "two", "guide"} {
		must(t, nil, "mkdir", "-p", filepath.Join(root, f))
	}
	must(t, nil, "cp", deb(t, "1.0.0"), filepath.Join(root, "one"))
	must(t, nil, "cp", deb(t, "1.0.1"), filepath.Join(root, "two"))
	must(t, nil, "cp", "-r", "packaging", "test/install/testdata/machine.sh", root)
	must(t, nil, "mkdir", filepath.Join(root, "bin"))
	must(t, nil, "sh", "-ec", "cp "+built+"/heddle* "+filepath.Join(root, "bin"))
	for name, text := range guide(t) {
		if err := os.WriteFile(filepath.Join(root, "guide", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// judge reads the console of machine.sh.
func judge(t *testing.T, console string) {
	t.Helper()
	passed := 0
	for _, line := range lines(console) {
		if strings.HasPrefix(line, "OK ") {
			passed++
		}
		if strings.HasPrefix(line, "OK ") || strings.HasPrefix(line, "NOTE ") {
			t.Log(line)
		}
	}
	if !strings.Contains(console, "\nMACHINE-DONE\n") || strings.Contains(console, "FAILED ") || passed < 60 {
		all := lines(console)
		// the failed check last, where a summary of the output has it
		_, failed, _ := strings.Cut(console, "\nFAILED ")
		failed, _, _ = strings.Cut(failed, "\n")
		t.Errorf("%d checks passed, then:\n%s\nthe failed check: %q",
			passed, strings.Join(all[max(0, len(all)-80):], "\n"), failed)
	}
}
