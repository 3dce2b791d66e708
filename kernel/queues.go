package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// Queues lists the queues of an interface in a container: those that receive, then those that send. It reads sysfs in a mount that has no place, and so
// nobody else sees it (fsopen(2)): sysfs shows the interfaces of the namespace in which it is mounted.
func (k *Kernel) Queues(pod Pod, name string) (all []heddle.Queue, err error) {
	ns, err := netnsOf(pod)
	if err != nil || ns == nil {
		return nil, err
	}
	if err := heddle.CheckIfName(name); err != nil {
		return nil, err
	}
	err = ns.Do(func() error {
		mount, err := mountSysfs()
		if err != nil {
			return refused("mount sysfs to read the queues of", name, err)
		}
		defer unix.Close(mount)
		all, err = readQueues(fmt.Sprintf("/proc/thread-self/fd/%d", mount), "/proc", name)
		return err
	})
	return all, err
}

// mountSysfs opens a mount of sysfs of the thread's network namespace.
func mountSysfs() (int, error) {
	config, err := unix.Fsopen("sysfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(config)
	if err := unix.FsconfigCreate(config); err != nil {
		return -1, err
	}
	return unix.Fsmount(config, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
}

// readQueues reads them in a sysfs and a procfs.
func readQueues(sys, proc, name string) (all []heddle.Queue, err error) {
	at := filepath.Join(sys, "class/net", name)
	folders, err := os.ReadDir(filepath.Join(at, "queues"))
	if err != nil {
		return nil, refused("read the queues of", name, err)
	}
	device, err := os.Readlink(filepath.Join(at, "device"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, refused("read the device of", name, err)
	}
	for _, f := range folders {
		kind, number, is := strings.Cut(f.Name(), "-")
		steering, action := "rps_cpus", "input"
		if kind == "tx" {
			steering, action = "xps_cpus", "output"
		} else if kind != "rx" {
			continue
		}
		q := heddle.Queue{Name: f.Name()}
		if _, err := strconv.Atoi(number); !is || err != nil {
			continue
		}
		if mask, err := os.ReadFile(filepath.Join(at, "queues", f.Name(), steering)); err == nil { // without several queues there is no XPS
			q.Steering = maskList(strings.TrimSpace(string(mask)))
		}
		if device != "" {
			q.Interrupt, q.CPUs = interruptOf(proc, filepath.Base(device)+"-"+action+"."+number)
		}
		all = append(all, q)
	}
	slices.SortFunc(all, func(a, b heddle.Queue) int {
		return cmp.Or(cmp.Compare(a.Name[:2], b.Name[:2]), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// interruptOf finds the interrupt that has a handler of that name, of which there is a folder (proc(5)), and the processors that it may go to. Where it is now
// would tell less: the kernel moves it when it comes next.
func interruptOf(proc, handler string) (number int, cpus string) {
	found, err := filepath.Glob(filepath.Join(proc, "irq/*", handler))
	if err != nil || len(found) != 1 {
		return 0, ""
	}
	folder := filepath.Dir(found[0])
	number, err = strconv.Atoi(filepath.Base(folder))
	if err != nil {
		return 0, ""
	}
	list, err := os.ReadFile(filepath.Join(folder, "smp_affinity_list"))
	if err != nil {
		return number, ""
	}
	return number, strings.TrimSpace(string(list))
}

// maskList writes a mask of processors, hexadecimal words of 32 bits with commas between them, as a list; "" for none or what is no mask.
func maskList(mask string) string {
	var ranges []string
	words := strings.Split(mask, ",")
	first := -1
	for cpu := range 32*len(words) + 1 {
		set := false
		if cpu < 32*len(words) {
			word, err := strconv.ParseUint(words[len(words)-1-cpu/32], 16, 32)
			if err != nil {
				return ""
			}
			set = word>>(cpu%32)&1 == 1
		}
		switch {
		case set && first < 0:
			first = cpu
		case set || first < 0:
		case first == cpu-1:
			ranges, first = append(ranges, strconv.Itoa(first)), -1
		default:
			ranges, first = append(ranges, fmt.Sprintf("%d-%d", first, cpu-1)), -1
		}
	}
	return strings.Join(ranges, ",")
}
