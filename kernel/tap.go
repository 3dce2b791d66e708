package kernel

import (
	"errors"
	"os"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/frames"
)

// createTAP makes a TAP device that stays without a program that has it open. Netlink cannot make one. Until the device
// bears our mark it lives as long as its file, so the kernel removes it should this process be killed.
func (s *session) createTAP(l heddle.Link) error {
	return s.ns.Do(func() error {
		born := frames.NewTAP
		if l.MultiQueue {
			born = frames.NewMultiQueueTAP
		}
		tap, err := born(l.Name)
		if errors.Is(err, os.ErrNotExist) {
			return heddle.Errorf(heddle.NotOnKernel, "make TAP device", l.Name, err.Error(), "load the kernel's module ('modprobe tun'); in a container, give it the device /dev/net/tun")
		}
		if err != nil {
			return err
		}
		defer tap.Close()
		index, err := s.ifindex(l.Name)
		if err != nil {
			return err
		}
		marked := linkState{kind: l.Kind, group: l.Group, alias: l.Alias}
		if err := s.rt.execute(changeLink(index, linkState{kind: l.Kind}, marked)...); err != nil {
			return err
		}
		return frames.KeepTAP(tap)
	})
}
