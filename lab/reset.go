package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// Reset cuts the power of a virtual machine, and boots it again. What was in its memory is gone, and so are the files that it wrote, but
// for those in its folder, and devices that were plugged in. Of its programs none runs then, nor does its agent.
func (l *Lab) Reset(ctx context.Context, host string) error {
	return l.change(ctx, "reset", host, func(f *Faults) error {
		h, err := l.machine(host)
		if err != nil {
			return err
		}
		if h.Machine == "" {
			return heddle.Errorf(heddle.BadArgument, "reset", host, "it is no virtual machine, and has no power of its own",
				"kill its agent with 'heddle lab fault kill', or name a machine")
		}
		delete(f.Paused, host)
		delete(f.Clocks, host)
		ctx, cancel := context.WithTimeout(ctx, bootTime)
		defer cancel()
		if err := h.reset(ctx); err != nil {
			return heddle.Wrap(heddle.LabFailed, "reset machine", host, err, "reset it again, or end the lab with 'heddle lab down'")
		}
		if err := h.awaitMachine(ctx); err != nil {
			return err
		}
		return l.setGuestMTUs(ctx, h, f)
	})
}

// setGuestMTUs gives the NICs of a machine that has just booted the MTUs that their wires have.
func (l *Lab) setGuestMTUs(ctx context.Context, h *Host, f *Faults) error {
	for name, fault := range f.Wires {
		w, err := l.findWire(name)
		if err != nil {
			return err
		}
		if w.host.Name != h.Name || fault.MTU == 0 || fault.Hidden {
			continue
		}
		if err := h.send(ctx, request{Verb: verbMTU, Name: w.nic, Number: fault.MTU}); err != nil {
			return heddle.Wrap(heddle.LabFailed, "set MTU of", name, err, "set it again with 'heddle lab fault mtu'")
		}
	}
	return nil
}

// reset ends the emulator's programs and has the init start them again. Called again after an error, it does the rest.
func (h *Host) reset(ctx context.Context) error {
	lock, err := takeLock(ctx, h.folder)
	if err != nil {
		return err
	}
	defer lock.Close()
	s, err := readSpec(h.folder)
	if err != nil {
		return err
	}
	for i := range s.Machine.Emulator {
		if err := h.endEmulator(ctx, s.Machine.Emulator[i].Name); err != nil {
			return err
		}
		s.Machine.Emulator[i].Starts++
	}
	// The emulator takes the socket for a sign that its files are served, and callers the states for those of programs that run.
	for _, stale := range []string{fmt.Sprintf("/proc/%d/root%s", h.Pid, filesSocket), filepath.Join(h.folder, guestStateName)} {
		if err := os.Remove(stale); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := writeJSON(filepath.Join(h.folder, specName), s); err != nil {
		return err
	}
	if err := h.signal(syscall.SIGHUP); err != nil {
		return err
	}
	for _, p := range s.Machine.Emulator {
		for h.Alive() && h.programState(p.Name).Starts < p.Starts {
			if err := pause(ctx, 5*time.Millisecond); err != nil {
				return fmt.Errorf("%s does not start: %w", p.Name, err)
			}
		}
	}
	return nil
}

// endEmulator kills a program of the emulator, and waits until the init has reaped it.
func (h *Host) endEmulator(ctx context.Context, name string) error {
	for h.Alive() && h.programState(name).Pid != 0 {
		if err := signalProcess(h.machinePid(name), unix.SIGKILL); err != nil {
			return err
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return fmt.Errorf("%s does not end: %w", name, err)
		}
	}
	return nil
}
