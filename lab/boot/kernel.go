package boot

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
)

// QEMU is the emulator's command.
const QEMU = "qemu-system-x86_64"

// Processor is what is emulated. QEMU 7.2 corrupts the flags after cmpxchg16b, which crashes the
// kernel at random. Without erms, the kernel and libraries copy and clear memory by words and not by
// bytes, which the emulator does one at a time; without AVX, they use vectors that it translates
// better: a sixth of a guest's processor time. Protection of the kernel from itself is another
// twelfth, as each change of smap's flag ends what the emulator translates at once.
const Processor = "max,-cx16,-erms,-avx,-avx2,-smap,-smep,-umip,-la57,-pku"

// Parameters are kernel parameters of every guest. norandmaps: the emulator translates a program once if
// it always has the same addresses; otherwise half of a guest's time goes into translating the thousands
// of small programs that tests start. no_timer_check: on a busy machine the timer may seem to stand still
// during the kernel's check, which would panic.
const Parameters = "console=ttyS0 quiet panic=-1 oops=panic mitigations=off net.ifnames=0 norandmaps no_timer_check"

// emulated are further parameters where the processor is emulated. With them Linux 6.1 boots in 3.1 s of a
// processor instead of 3.6, 6.12 in 3.3 instead of 4.5, and three guests took a tenth to a quarter less in
// all. highres=off, which saves the most after the boot: no timer is finer than a tick, so that the short
// sleeps of programs set it less often. tsc=reliable: the kernel does not compare the clock that programs
// read without it, which a busy machine may make it distrust (EmulatedParameters tell it the rate). The rest are the kernel's tests of its own
// ciphers and random numbers, certificates of modules (which are unsigned here, see cutSignature), names
// for tracers, and memory that is cleared before it is written.
const emulated = "highres=off tsc=reliable cryptomgr.notests init_on_alloc=0" +
	" initcall_blacklist=jent_mod_init,load_system_certificate_list,trace_eval_init"

// Self is the running program, which boots as the guest's first process.
const Self = "/proc/self/exe"

// FetchCommand is the command that puts the kernels into the cache.
const FetchCommand = "make vm-kernels"

// Kernel is an unpacked Debian kernel package in the cache.
type Kernel struct {
	Version string // "6.1", "6.12"
	Dir     string // holds vmlinux and lib/modules
	Vmlinux string // the uncompressed kernel
}

// Versions returns the kernel versions that fetch.sh puts into the cache, oldest first.
func Versions() []string { return []string{"6.1", "6.12"} }

// Kernels returns the kernels present in the cache, oldest first.
func Kernels() []Kernel {
	cache, err := CacheDir()
	if err != nil {
		return nil
	}
	var found []Kernel
	for _, v := range Versions() {
		k := Kernel{Version: v, Dir: filepath.Join(cache, v), Vmlinux: filepath.Join(cache, v, "vmlinux")}
		if _, err := os.Stat(k.Vmlinux); err == nil {
			found = append(found, k)
		}
	}
	return found
}

// Missing says why guests of some version cannot run here, and what to do about it. It is empty if all can.
func Missing() string {
	if reason := MissingHere(); reason != "" {
		return reason
	}
	present := Kernels()
	for _, v := range Versions() {
		if !slices.ContainsFunc(present, func(k Kernel) bool { return k.Version == v }) {
			return MissingKernel(v)
		}
	}
	return ""
}

// MissingHere is the part of Missing that is true for every kernel.
func MissingHere() string {
	if runtime.GOARCH != "amd64" {
		return fmt.Sprintf("the guests are amd64 and boot this program, which is %s", runtime.GOARCH)
	}
	if _, err := exec.LookPath(QEMU); err != nil {
		return fmt.Sprintf("no %s: install the package qemu-system-x86, then run `%s`", QEMU, FetchCommand)
	}
	if err := CheckStatic(Self); err != nil {
		return err.Error()
	}
	return ""
}

// MissingKernel says that a version is not in the cache, and how to get it.
func MissingKernel(version string) string {
	cache, err := CacheDir()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("no kernel %s in %s: run `%s`", version, cache, FetchCommand)
}

// CacheDir returns the folder that fetch.sh fills.
func CacheDir() (string, error) {
	if dir := os.Getenv("HEDDLE_CACHE"); dir != "" {
		return filepath.Join(dir, "vm"), nil
	}
	if dir := os.Getenv("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "heddle", "vm"), nil
	}
	home := os.Getenv("HOME")
	if home == "" {
		return "", fmt.Errorf("find the kernel cache: neither HEDDLE_CACHE, XDG_CACHE_HOME nor HOME is set: set one")
	}
	return filepath.Join(home, ".cache", "heddle", "vm"), nil
}
