package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const relayTime = 30 * time.Second

// putRelay puts a relay into the wire, if there is none, and waits until it runs.
func (w wire) putRelay(ctx context.Context, mtu int) error {
	ctx, cancel := context.WithTimeout(ctx, relayTime)
	defer cancel()
	name := relayProgram(w.port)
	if w.relayRuns() {
		return nil
	}
	if err := w.sw.launch(ctx, program{Name: name, Argv: []string{"/proc/self/exe", argRelay, w.port}}); err != nil {
		return err
	}
	err := w.sw.await(ctx, name, func() bool { return w.sw.connects(relaySocket(w.port)) })
	if err != nil {
		return err
	}
	return w.ends(func(sw, host *namespace) error {
		// A relay needs frames of up to the MTU, as on a wire.
		if err := sw.setSegmentation(w.port, false); err != nil {
			return err
		}
		if err := host.setSegmentation(w.nic, false); err != nil {
			return err
		}
		return sw.divert(w.port, w.sw.Name, mtu)
	})
}

// divert replaces the bridge's port by the relay's TAP. The port is then in no bridge, so the
// switch's own stack must not answer on it.
func (s *namespace) divert(port, bridge string, mtu int) error {
	if err := s.setMTU(relayPort(port), mtu); err != nil {
		return err
	}
	tap, err := s.LinkByName(relayPort(port))
	if err != nil {
		return err
	}
	if err := s.setMuted(port, true); err != nil {
		return err
	}
	link, err := s.LinkByName(port)
	if err != nil {
		return err
	}
	if err := s.LinkSetNoMaster(link); err != nil {
		return err
	}
	return s.join(tap, bridge)
}

func (s *namespace) join(link netlink.Link, bridge string) error {
	master, err := s.LinkByName(bridge)
	if err != nil {
		return err
	}
	if err := s.LinkSetMaster(link, master); err != nil {
		return err
	}
	return s.raisePort(link)
}

// setMuted keeps the switch's own network stack from using a device, or lets it again.
func (s *namespace) setMuted(port string, on bool) error {
	link, err := s.LinkByName(port)
	if err != nil {
		return err
	}
	change, value := s.LinkSetARPOn, "0"
	if on {
		change, value = s.LinkSetARPOff, "1"
	}
	if err := change(link); err != nil {
		return err
	}
	return s.sysctl("net/ipv6/conf/"+port+"/disable_ipv6", value)
}

// sysctl sets an IPv6 setting of a device. It does nothing on a machine without IPv6.
func (s *namespace) sysctl(key, value string) error {
	return s.within(func() error {
		err := os.WriteFile(sysctlPath(key), []byte(value), 0o644)
		if os.IsNotExist(err) {
			return nil
		}
		return err
	})
}

// takeRelay takes the relay out of the wire, even if it is dead.
func (w wire) takeRelay(ctx context.Context) error {
	if err := w.sw.end(ctx, relayProgram(w.port), unix.SIGKILL); err != nil {
		return err
	}
	return w.ends(func(sw, host *namespace) error {
		if err := sw.setMuted(w.port, false); err != nil {
			return err
		}
		link, err := sw.LinkByName(w.port)
		if err != nil {
			return err
		}
		if err := sw.join(link, w.sw.Name); err != nil {
			return err
		}
		if w.cut {
			return nil
		}
		if err := sw.setSegmentation(w.port, true); err != nil {
			return err
		}
		return host.setSegmentation(w.nic, true)
	})
}

func (w wire) relayRuns() bool { return w.sw.programState(relayProgram(w.port)).Pid != 0 }

// callRelay sends the relay its settings, if any, and returns its counts.
func (w wire) callRelay(s *settings) (r report, err error) {
	c, err := net.DialTimeout("unix", fmt.Sprintf("/proc/%d/root%s", w.sw.Pid, relaySocket(w.port)), relayTime)
	if err != nil {
		return r, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(relayTime))
	if err := json.NewEncoder(c).Encode(s); err != nil {
		return r, err
	}
	return r, json.NewDecoder(c).Decode(&r)
}
