package lab

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/lab/boot"
)

// guestModules are loaded before any file is available: the root's file systems, what the
// NICs need, and what agents usually need. An emulated processor takes ten times as long
// to start modprobe and to check a signature. All other modules are loaded on demand.
var guestModules = strings.Fields(`
	virtio_pci virtio_net virtiofs overlay af_packet
	bridge veth vxlan tun macvlan ipvlan
	nf_tables nft_ct nft_nat nft_masq nft_chain_nat nft_fib nft_fib_inet nft_fib_ipv4 nft_fib_ipv6
	nft_reject_inet nft_limit nft_log nfnetlink_log nft_objref nft_compat nft_meta_bridge nf_conntrack nf_conntrack_bridge nf_conntrack_netlink
	sch_ingress cls_bpf act_mirred sch_tbf`)

// Where the guest prepares its root file system.
const (
	lowerDir = "/lower"
	upperDir = "/upper"
	rootDir  = "/newroot"
)

// guest is the first process of a machine. When it ends, the machine is powered off.
func guest() {
	g, err := bootGuest()
	if err == nil {
		err = g.serve()
	}
	fmt.Println("the machine cannot be furnished:", err)
	unix.Sync()
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	time.Sleep(time.Minute) // the first process must not end
}

// fileSystem is a file system of the guest. One that the kernel lacks is left out.
type fileSystem struct{ kind, dir, options string }

// bootGuest makes a root from the machine's files, with a layer in memory for all writes,
// and makes it the guest's root.
func bootGuest() (*guestInit, error) {
	first := []fileSystem{{"proc", "/proc", ""}, {"sysfs", "/sys", ""}, {"devtmpfs", "/dev", ""}}
	for _, step := range []func() error{
		func() error { return mountFileSystems(first) },
		loadGuestModules, mountRoot,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	folder, err := os.OpenRoot(lowerDir + sharedFolder)
	if err != nil {
		return nil, fmt.Errorf("open the host's folder: %w", err)
	}
	s, err := readRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("read what the host shall be: %w", err)
	}
	if err := enterRoot(first); err != nil {
		return nil, fmt.Errorf("enter the root: %w", err)
	}
	more := []fileSystem{
		{"devpts", "/dev/pts", "ptmxmode=666"}, {"tmpfs", "/dev/shm", ""}, {"tmpfs", "/run", "mode=755"},
		{"cgroup2", "/sys/fs/cgroup", ""}, {"bpf", "/sys/fs/bpf", ""}, {"tracefs", "/sys/kernel/tracing", ""}}
	for _, own := range ownFolders {
		more = append(more, fileSystem{"tmpfs", own, "mode=711"})
	}
	return newGuestInit(folder, s), mountFileSystems(more)
}

func mountFileSystems(all []fileSystem) error {
	for _, p := range all {
		os.MkdirAll(p.dir, 0o755)
		err := unix.Mount(p.kind, p.dir, p.kind, 0, p.options)
		if err != nil && err != unix.ENODEV && err != unix.EBUSY && err != unix.ENOENT {
			return fmt.Errorf("mount %s on %s: %w", p.kind, p.dir, err)
		}
	}
	return nil
}

func loadGuestModules() error {
	list, err := os.ReadFile(boot.ModulesList)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(list) {
		file := string(bytes.TrimSpace(line))
		if err := loadModule(file); err != nil { // whoever needs the module reports its own error
			fmt.Printf("load the module %s: %v\n", file, err)
		}
	}
	return nil
}

func loadModule(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil && err != unix.EEXIST {
		return err
	}
	os.Remove(file)
	return nil
}

func mountRoot() error {
	upper, work := filepath.Join(upperDir, "upper"), filepath.Join(upperDir, "work")
	for _, m := range []fileSystem{
		{"virtiofs", lowerDir, ""},
		{"tmpfs", upperDir, ""},
		{"overlay", rootDir, "lowerdir=" + lowerDir + ",upperdir=" + upper + ",workdir=" + work},
	} {
		for _, dir := range []string{m.dir, upper, work} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		source := m.kind
		if m.kind == "virtiofs" {
			source = filesTag
		}
		if err := unix.Mount(source, m.dir, m.kind, 0, m.options); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.kind, m.dir, err)
		}
	}
	return nil
}

// enterRoot moves the first file systems to the new root, and makes it the root.
func enterRoot(along []fileSystem) error {
	for _, p := range along {
		if err := unix.Mount(p.dir, rootDir+p.dir, "", unix.MS_MOVE, ""); err != nil {
			return err
		}
	}
	if err := os.Chdir(rootDir); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return err
	}
	if err := unix.Chroot("."); err != nil {
		return err
	}
	return os.Chdir("/")
}

// useModules makes the kernel's modules visible in /lib/modules.
func useModules(folder string) error {
	if err := os.MkdirAll("/lib/modules", 0o755); err != nil {
		return err
	}
	if err := unix.Mount(folder, "/lib/modules", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bring the modules of %s: %w", folder, err)
	}
	return nil
}

// setEnvironment sets the environment of all programs of the guest.
func setEnvironment(all []string) {
	os.Clearenv()
	for _, v := range all {
		name, value, _ := strings.Cut(v, "=")
		os.Setenv(name, value)
	}
}
