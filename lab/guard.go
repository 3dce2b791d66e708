package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/heddle-network/heddle"
)

// guardTime is how long a guard tries to remove a lab.
const guardTime = 2 * time.Minute

// guard is a process that removes a lab when the process that raised it ends: then the kernel closes
// the pipe that the guard reads. The zero value guards nothing.
type guard struct {
	cmd  *exec.Cmd
	pipe io.Closer
}

// startGuard starts the guard of a lab's folder. A lab needs none unless it is bound.
func startGuard(t Topology, folder string) (guard, error) {
	if !t.Bound {
		return guard{}, nil
	}
	cmd := exec.Command("/proc/self/exe", argGuard, folder)
	cmd.Args[0] = heddle.Mark
	cmd.Dir = "/"
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a terminal's Ctrl-C is for the maker
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return guard{}, heddle.Wrap(heddle.LabFailed, "guard lab", t.Name, err, "")
	}
	return guard{cmd, pipe}, nil
}

// release lets go of a lab that is gone, and waits for the guard's end.
func (g guard) release() {
	if g.cmd != nil {
		g.pipe.Close()
		g.cmd.Wait()
	}
}

// guardFolder is the guard's program. A lab that is gone already needs nothing, and one that was made since
// in its folder is another's.
func guardFolder(folder string) int {
	f, err := os.Open(folder)
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	io.Copy(io.Discard, os.Stdin)
	if !sameFile(f, folder) {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), guardTime)
	defer cancel()
	l := &Lab{Name: filepath.Base(folder), folder: folder}
	if err := l.Down(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
