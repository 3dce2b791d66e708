package lab

import (
	"context"
	"fmt"
	"time"

	"github.com/heddle-network/heddle"
)

// undoTime bounds the removal of what a failed Up had made.
const undoTime = 20 * time.Second

// Up makes a lab, all of it or nothing. If the lab is up already and has the
// same options, it is returned as it is. When the calling process dies in the
// middle, the hosts made so far die with it; Down removes the folders.
func Up(ctx context.Context, o Options) (*Lab, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	folder := labFolder(o.Dir, o.Name)
	lock, err := makeFolder(ctx, folder)
	if err != nil {
		return nil, heddle.Wrap(heddle.LabFailed, "make the folder", folder, err, "")
	}
	defer lock.Close()
	if !isEmpty(folder) {
		return existing(folder, o)
	}
	l := &Lab{Name: o.Name, Boot: bootID(), Created: time.Now(), Options: o, folder: folder}
	if err := l.raise(ctx); err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
		defer cancel()
		l.remove(undo)
		return nil, err
	}
	return l, nil
}

// existing answers for a lab that is there already.
func existing(folder string, o Options) (*Lab, error) {
	l := read(folder)
	switch {
	case l.Alive() && l.Options.same(o):
		return l, nil
	case l.Alive():
		return nil, heddle.Errorf(heddle.LabFailed, "another one is up by the name", o.Name, "remove it first ('heddle lab down'), or use another name")
	default:
		return nil, heddle.Errorf(heddle.LabFailed, "remains are left by the name", o.Name, "remove them first ('heddle lab down')")
	}
}

// raise makes the lab in an empty folder. The steps are ordered so that
// whatever exists is either recorded or ends with this process: the inits only
// wait until they are in the record, and stay only when told so at the end.
func (l *Lab) raise(ctx context.Context) error {
	if err := l.makeFolders(); err != nil {
		return err
	}
	l.Options.Progress(fmt.Sprintf("starting %d hosts", l.Options.Hosts))
	inits, err := l.startAll()
	defer inits.close()
	if err != nil {
		return err
	}
	if err := l.write(); err != nil {
		return heddle.Wrap(heddle.LabFailed, "record the lab", l.Name, err, "")
	}
	l.Options.Progress("wiring the switch")
	if err := l.wire(); err != nil {
		return err
	}
	if err := inits.furnish(ctx); err != nil {
		return err
	}
	if !l.Options.NoAgent && !l.Options.AgentsLater {
		l.Options.Progress("starting the agents")
		if err := l.startAgents(ctx); err != nil {
			return err
		}
	}
	return l.settle(inits)
}

// settle tells the inits to outlive this process. Only then is the lab called
// ready: a record that says so must not be one of dead hosts.
func (l *Lab) settle(inits crew) error {
	if err := inits.tell(wordStay); err != nil {
		return err
	}
	l.Ready = true
	if err := l.write(); err != nil {
		return heddle.Wrap(heddle.LabFailed, "record the lab", l.Name, err, "")
	}
	l.Options.Progress(fmt.Sprintf("lab %s is up", l.Name))
	return nil
}

// startAll starts the switch's and the hosts' inits.
func (l *Lab) startAll() (crew, error) {
	var all crew
	for i := -1; i < l.Options.Hosts; i++ {
		in, err := l.start(i)
		if err != nil {
			return all, err
		}
		all = append(all, in)
		if i < 0 {
			l.Switch = in.host
		} else {
			l.Hosts = append(l.Hosts, in.host)
		}
	}
	return all, nil
}

// startAgents starts all agents, side by side.
func (l *Lab) startAgents(ctx context.Context) error {
	return eachHost(l.Hosts, func(h *Host) error { return h.StartAgent(ctx) })
}

// eachHost does something for all hosts at once, and returns the first error.
func eachHost(hosts []*Host, do func(*Host) error) error {
	errs := make(chan error, len(hosts))
	for _, h := range hosts {
		go func() { errs <- do(h) }()
	}
	var first error
	for range hosts {
		if err := <-errs; first == nil {
			first = err
		}
	}
	return first
}
