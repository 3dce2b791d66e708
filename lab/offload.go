package lab

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ethtool"
)

// setSegmentation turns segmentation offload at one end of a wire on or off. While it is off,
// all frames that leave fit the MTU, as on a cable; otherwise a veth passes on TCP's segments
// of 64 KiB. Checksums are not computed in either case. (Older kernels have no netlink
// request for this, hence ethtool.)
func (s *namespace) setSegmentation(name string, on bool) error {
	set := map[string]uint32{"tso": unix.ETHTOOL_STSO, "gso": unix.ETHTOOL_SGSO, "gro": unix.ETHTOOL_SGRO}
	if on {
		delete(set, "gro") // a new veth has it off
	}
	value := uint32(0)
	if on {
		value = 1
	}
	return s.ethtool(name, set, value, func(string, uint32) {})
}

// enableGRO turns generic receive offload on; a new veth has it off.
func (s *namespace) enableGRO(name string) error {
	return s.ethtool(name, map[string]uint32{"gro": unix.ETHTOOL_SGRO}, 1, func(string, uint32) {})
}

// ethtool makes each request with the value, and reports the value that results.
func (s *namespace) ethtool(name string, requests map[string]uint32, value uint32, tell func(string, uint32)) error {
	return s.within(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		for what, command := range requests {
			value, err := ethtool.Request(fd, name, command, value)
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			tell(what, value)
		}
		return nil
	})
}

// Offloads returns which segmentation offloads are on at a host's eth0.
func (h *Host) Offloads() (map[string]bool, error) {
	in, err := h.enter()
	if err != nil {
		return nil, heddle.Wrap(heddle.LabFailed, "enter host", h.Name, err, "")
	}
	defer in.Close()
	all := map[string]bool{}
	err = in.ethtool(uplink, map[string]uint32{"tso": unix.ETHTOOL_GTSO, "gso": unix.ETHTOOL_GGSO, "gro": unix.ETHTOOL_GGRO}, 0,
		func(what string, value uint32) { all[what] = value != 0 })
	if err != nil {
		return nil, heddle.Wrap(heddle.LabFailed, "read offloads of", h.Name, err, "")
	}
	return all, nil
}

// within runs a function in the namespace, and moves its thread back. A thread left there
// would keep the namespace: Go ends the threads of locked goroutines, but not the first
// thread of the process.
func (s *namespace) within(f func() error) error {
	result := make(chan error, 1)
	go func() { result <- s.runInside(f) }()
	return <-result
}

func (s *namespace) runInside(f func() error) error {
	runtime.LockOSThread()
	home, err := netns.Get()
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer home.Close()
	if err := netns.Set(s.ns); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	err = f()
	if back := netns.Set(home); back != nil {
		return errors.Join(err, back) // the thread stays locked: no other goroutine may use it
	}
	runtime.UnlockOSThread()
	return err
}
