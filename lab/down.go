package lab

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-network/heddle"
)

const (
	deathTime = time.Minute     // a host full of containers takes a while
	strayTime = 3 * time.Second // for processes that end a little after the init
	groupTime = time.Minute     // a killed process leaves its group when it has ended, which takes one with many files a while
)

// Down removes the lab in any state. It is no error if the lab is gone already.
func (l *Lab) Down(ctx context.Context) error {
	lock, err := takeLock(ctx, l.folder)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return heddle.Wrap(heddle.LabFailed, "lock folder", l.folder, err, "wait until no other 'heddle lab' works on it")
	}
	defer l.guard.release()
	defer lock.Close()
	found := read(l.folder)
	found.guard = l.guard
	*l = *found
	return l.removeLocked(ctx)
}

// removeLocked removes everything.
func (l *Lab) removeLocked(ctx context.Context) error {
	stacks := l.openNetns()
	err := l.kill(ctx)
	strays := stacks.awaitEmpty(ctx)
	if err != nil {
		return err
	}
	if err := removeGroups(ctx, groupName(l.folder)); err != nil {
		return heddle.Wrap(heddle.LabFailed, "remove cgroups of", l.Name, err, "")
	}
	if err := l.removeFolders(); err != nil {
		return heddle.Wrap(heddle.LabFailed, "remove folder of", l.Name, err, "")
	}
	if len(strays) > 0 {
		return heddle.Wrap(heddle.LabFailed, "remove lab", l.Name,
			errors.New("processes of the machine keep network namespaces of its hosts: "+strings.Join(strays, ", ")), "end these processes")
	}
	return nil
}

// kill ends the inits. The kernel kills all other processes in a PID namespace before its
// init is gone, so it is enough to wait for the inits.
func (l *Lab) kill(ctx context.Context) error {
	for _, h := range l.allHosts() {
		if err := h.signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) && h.Alive() {
			return heddle.Wrap(heddle.LabFailed, "end host", h.Name, err, "")
		}
	}
	ctx, cancel := context.WithTimeout(ctx, deathTime)
	defer cancel()
	for l.anyAlive() || unrecorded(l.folder) {
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return heddle.Wrap(heddle.LabFailed, "wait for end of", l.Name, err, "run 'heddle lab down NAME' again")
		}
	}
	return nil
}

func (l *Lab) anyAlive() bool {
	for _, h := range l.allHosts() {
		if h.Alive() {
			return true
		}
	}
	return false
}
