package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/heddle-network/heddle"
)

// undoTime limits the removal of what a failed Raise has made.
const undoTime = 20 * time.Second

// Raise makes a lab or nothing. If the lab is up already with the same topology, Raise returns
// it, unless the lab shall be bound. If the calling process dies in the middle, the hosts made so
// far end with it; Down removes the folders.
func Raise(ctx context.Context, t Topology) (*Lab, error) {
	t, err := t.makeable()
	if err != nil {
		return nil, err
	}
	folder := labFolder(t.Dir, t.Name)
	lock, err := makeFolder(ctx, folder)
	if err != nil {
		return nil, heddle.Wrap(heddle.LabFailed, "make folder", folder, err, "make room there, and look at the folder's mode and owner")
	}
	defer lock.Close()
	if !isEmpty(folder) {
		return existing(folder, t)
	}
	l := &Lab{Name: t.Name, Boot: bootID(), Created: time.Now(), Topology: t, folder: folder}
	if l.guard, err = startGuard(t, folder); err == nil {
		err = l.raise(ctx)
	}
	if err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
		defer cancel()
		l.removeLocked(undo)
		lock.Close() // for which the guard waits
		l.guard.release()
		return nil, err
	}
	return l, nil
}

// Preview is the dry run of Raise: it makes the checks, and returns the lab as it would be, without
// processes. If the lab is up already with the same topology, Preview returns it.
func Preview(ctx context.Context, t Topology) (*Lab, error) {
	t, err := t.makeable()
	if err != nil {
		return nil, err
	}
	folder := labFolder(t.Dir, t.Name)
	lock, err := takeLock(ctx, folder) // a lab that is being made is there when it is made
	if err == nil {
		defer lock.Close()
		if !isEmpty(folder) {
			return existing(folder, t)
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, heddle.Wrap(heddle.LabFailed, "open folder", folder, err, "look at the folder's mode and owner")
	}
	t.warnNeighbours()
	l := &Lab{Name: t.Name, Topology: t, folder: folder}
	return l, l.describeAll(func(list *[]*Host, h *Host, _ spec) error {
		*list = append(*list, h)
		return nil
	})
}

// makeable returns the topology without defaults, if it can be made here.
func (t Topology) makeable() (Topology, error) {
	t, err := t.complete()
	if err == nil {
		err = needRoot("make lab", t.Name)
	}
	return t, err
}

// existing returns the lab that is in the folder if it is up and has that topology.
func existing(folder string, t Topology) (*Lab, error) {
	l := read(folder)
	switch {
	case l.Alive() && l.Topology.equals(t) && !t.Bound:
		return l, nil
	case l.Alive():
		return nil, heddle.Errorf(heddle.LabFailed, "make lab", t.Name,
			"another lab of that name is up", "remove it with 'heddle lab down "+t.Name+"', or choose another name with --name")
	default:
		return nil, heddle.Errorf(heddle.LabFailed, "make lab", t.Name,
			"a lab of that name has left its folder", "remove it with 'heddle lab down "+t.Name+"'")
	}
}

// raise makes the lab in an empty folder. At each step, everything that exists is recorded or
// ends with this process: the inits wait until they are recorded, and stay only if they are
// told to at the end.
func (l *Lab) raise(ctx context.Context) error {
	if err := l.makeFolders(ctx); err != nil {
		return err
	}
	if err := l.prepareMachines(); err != nil {
		return err
	}
	l.Topology.warnNeighbours()
	l.Topology.Progress(fmt.Sprintf("starting %d hosts", len(l.Topology.Hosts)))
	inits, err := l.startAll()
	defer inits.close()
	if err != nil {
		return err
	}
	if err := l.write(); err != nil {
		return heddle.Wrap(heddle.LabFailed, "record lab", l.Name, err, "")
	}
	l.Topology.Progress("wiring")
	if err := l.wire(); err != nil {
		return err
	}
	if err := inits.setUp(ctx); err != nil {
		return err
	}
	if err := l.awaitMachines(ctx); err != nil {
		return err
	}
	if err := l.startPrograms(ctx); err != nil {
		return err
	}
	return l.finish(inits)
}

// finish tells the inits to stay when this process ends. Only then it marks the lab ready: a
// record with this mark must not describe dead hosts.
func (l *Lab) finish(inits initSet) error {
	if err := inits.send(wordStay); err != nil {
		return err
	}
	l.Ready = true
	if err := l.write(); err != nil {
		return heddle.Wrap(heddle.LabFailed, "record lab", l.Name, err, "")
	}
	l.Topology.Progress(fmt.Sprintf("lab %s is up", l.Name))
	return nil
}

// startAll starts the inits of the switches and the hosts.
func (l *Lab) startAll() (all initSet, err error) {
	err = l.describeAll(func(list *[]*Host, h *Host, s spec) error {
		in, err := l.start(h, s)
		if err == nil {
			all = append(all, in)
			*list = append(*list, h)
		}
		return err
	})
	return all, err
}

// describeAll passes each switch and host to add, with the list of the lab's that it belongs to, until
// there is an error.
func (l *Lab) describeAll(add func(list *[]*Host, h *Host, s spec) error) error {
	for _, sw := range l.Topology.Switches {
		gate := sw.addresses(routerNumber)
		h := &Host{Name: sw.Name, Addr4: ofFamily(gate, heddle.IPv4), Addr6: ofFamily(gate, heddle.IPv6)}
		if err := add(&l.Switches, h, spec{Sysctls: switchSysctls()}); err != nil {
			return err
		}
	}
	for i := range l.Topology.Hosts {
		n := &l.Topology.Hosts[i]
		list := &l.Hosts
		if n.Router {
			list = &l.Routers
		}
		h, s := l.Topology.describe(n)
		if n.Machine != "" {
			h.Machine, h.Accelerator, h.Slots = n.Machine, accelerator(), n.Slots
			s.Machine = l.Topology.machine(n, hostOffset+i+1)
		}
		if err := add(list, h, s); err != nil {
			return err
		}
	}
	return nil
}
