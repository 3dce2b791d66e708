package lab

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/lab/boot"
)

// The programs of a machine's init. No daemon has such a name.
const (
	emulatorPrefix = "machine:"
	qemuProgram    = emulatorPrefix + "qemu"
	filesProgram   = emulatorPrefix + "files"
)

// The emulator's files, in the namespaces of the machine's init.
const (
	emulatorDir  = "/run/.machine"
	sharedRoot   = emulatorDir + "/root"   // what the guest sees, read-only
	sharedFolder = emulatorDir + "/folder" // the host's folder, which the guest may write
	filesSocket  = emulatorDir + "/files.sock"
	filesTag     = "machine"
)

// memory of a machine in MiB. Pages that it does not touch take none of the host's.
const memory = 768

// shareTree collects in one place what a machine shall see of the file system: everything
// that its init sees, read-only, except the host's folder.
func (s spec) shareTree() error {
	if s.Machine == nil {
		return nil
	}
	if err := os.MkdirAll(sharedRoot, 0o755); err != nil {
		return err
	}
	root, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return fmt.Errorf("clone the mounts: %w", err)
	}
	if err := unix.MountSetattr(root, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		unix.Close(root)
		return fmt.Errorf("make the mounts read-only: %w", err)
	}
	if err := placeTree(root, sharedRoot); err != nil {
		return err
	}
	folder, err := cloneTree(sharedFolder)
	if err != nil {
		return err
	}
	return placeTree(folder, sharedRoot+sharedFolder)
}

// virtiofsd finds the program that serves files to a machine. No distribution has it in
// the PATH.
func virtiofsd() string {
	for _, file := range []string{"/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd"} {
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return ""
}

// emulated is QEMU's name for an emulated processor.
const emulated = "tcg"

// accelerator is what runs a machine: the real processor if it can and the kernel permits
// it, or an emulated one. The existence of /dev/kvm is not enough: on some machines it
// exists although the processor cannot run guests, and these make no progress.
func accelerator() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range bytes.Lines(info) {
		name, flags, _ := strings.Cut(string(line), ":")
		if strings.TrimSpace(name) != "flags" {
			continue
		}
		for _, flag := range strings.Fields(flags) {
			if flag == "vmx" || flag == "svm" {
				return kvmIfOpen()
			}
		}
		break
	}
	return emulated
}

func kvmIfOpen() string {
	f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return emulated
	}
	f.Close()
	return "kvm"
}

// emulator returns the programs that make a machine, in the order in which they start. QEMU
// gets the further arguments.
func emulator(k boot.Kernel, m *machineSpec, n *Node, more []string) []program {
	// What the guest has read it keeps, until it sees that a file has changed, after a second at most (FUSE_AUTO_INVAL_DATA). With cache=auto it forgets a
	// file whenever it opens it: each start of a program reads all of it anew, which takes most of the time of a short one.
	files := []string{virtiofsd(), "--socket-path=" + filesSocket, "-o", "source=" + sharedRoot, "-o", "cache=always", "-o", "timeout=1", "-o", "sandbox=chroot"}
	return []program{{Name: filesProgram, Argv: files, Starts: 1},
		{Name: qemuProgram, Argv: slices.Concat([]string{"/proc/self/exe", argEmulate, filesSocket}, qemu(k, m, n), more), Starts: 1}}
}

// iommuParameters have the kernel use the machine's IOMMU, for programs alone: its own drivers go past it, which costs them nothing.
const iommuParameters = " intel_iommu=on iommu=pt"

func qemu(k boot.Kernel, m *machineSpec, n *Node) []string {
	size := strconv.Itoa(memory) + "M"
	args := []string{boot.QEMU, "-M", "q35", "-m", size, "-smp", strconv.Itoa(max(1, n.CPUs))}
	parameters := boot.Parameters
	if accelerator() == "kvm" {
		args = append(args, "-accel", "kvm"+splitChip(n), "-cpu", "host")
	} else {
		// Without a limit the translations take more than 1 GiB.
		args = append(args, "-accel", "tcg,thread=single,tb-size=192", "-cpu", boot.Processor)
		if !n.ICount { // whose kernel is measured
			parameters += " " + boot.EmulatedParameters()
		}
	}
	args = append(args, n.icountArguments()...)
	args = append(args, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-serial", "file:"+filepath.Join(sharedFolder, consoleName),
		"-object", "memory-backend-memfd,id=memory,size="+size+",share=on", "-numa", "node,memdev=memory")
	if n.IOMMU {
		// before all devices: they ask for it when they are made
		args = append(args, "-device", "intel-iommu,intremap=on", "-global", "virtio-net-pci.iommu_platform=on", "-global", "virtio-net-pci.disable-legacy=on")
		parameters += iommuParameters
	}
	args = append(args, "-chardev", "socket,id=files,path="+filesSocket, "-device", "vhost-user-fs-pci,chardev=files,tag="+filesTag,
		"-kernel", k.Vmlinux, "-initrd", filepath.Join(sharedFolder, initramfsName),
		"-append", parameters+" -- "+argGuest)
	for i, nic := range m.NICs {
		args = append(args, qemuNIC(tapName(i), nic.MAC)...)
	}
	return append(args, qemuNIC(controlLink, m.Control)...)
}

// splitChip has QEMU do a part of what KVM does with interrupts: an emulated IOMMU leads these, too.
func splitChip(n *Node) string {
	if n.IOMMU {
		return ",kernel-irqchip=split"
	}
	return ""
}

func qemuNIC(tap, mac string) []string {
	return []string{"-netdev", fmt.Sprintf("tap,id=%s,ifname=%s,script=no,downscript=no", tap, tap),
		"-device", fmt.Sprintf("virtio-net-pci,netdev=%s,mac=%s,romfile=", tap, mac)}
}

const filesTime = 30 * time.Second // limit for the start of virtiofsd

// emulate waits until virtiofsd serves the files, and then executes the emulator.
func emulate(files string, argv []string) error {
	for end := time.Now().Add(filesTime); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(files); err == nil {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("nobody serves files at %s", files)
		}
	}
	file, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	return syscall.Exec(file, argv, os.Environ())
}
