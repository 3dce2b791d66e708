package frames

import (
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// OpenQueues opens as many queues of a TAP device that is kept, and that nobody has open; just one if it was made for one. It gives ENODEV
// if there is none, and EBUSY if somebody has it open: the kernel refuses that only for devices of one queue.
func OpenQueues(name string, count int) (all []*os.File, err error) {
	several, open, err := queuesOf(name)
	switch {
	case err != nil:
		return nil, err
	case open > 0:
		return nil, &os.PathError{Op: "open", Path: name, Err: unix.EBUSY}
	case !several:
		one, err := OpenTAP(name)
		if err != nil {
			return nil, err
		}
		return []*os.File{one}, nil
	}
	defer func() {
		if err != nil {
			for _, f := range all {
				f.Close()
			}
			all = nil
		}
	}()
	for range count {
		one, err := openKept(name, unix.IFF_MULTI_QUEUE)
		if err != nil {
			return all, err
		}
		all = append(all, one)
	}
	if _, open, err = queuesOf(name); err == nil && open != count { // others have opened it at the same time
		err = &os.PathError{Op: "open", Path: name, Err: unix.EBUSY}
	}
	return all, err
}

// queuesOf tells whether a TAP device was made for several queues, and how many are open, also of those that a guest does not
// use (IFLA_TUN_NUM_QUEUES and IFLA_TUN_NUM_DISABLED_QUEUES in linux/if_link.h; for one queue the kernel does not tell).
func queuesOf(name string) (several bool, open int, err error) {
	link, err := netlink.LinkByName(name)
	if _, none := err.(netlink.LinkNotFoundError); none {
		return false, 0, unix.ENODEV
	}
	if err != nil {
		return false, 0, err
	}
	tap, is := link.(*netlink.Tuntap)
	if !is {
		return false, 0, &os.PathError{Op: "open", Path: name, Err: unix.EINVAL}
	}
	return tap.Flags&netlink.TUNTAP_MULTI_QUEUE != 0, tap.Queues + tap.DisabledQueues, nil
}
