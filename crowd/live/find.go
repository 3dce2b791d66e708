package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/event"
)

// prefix begins the names of the sockets; the process follows.
const prefix = "@heddle-crowd/"

func name(pid int) string { return prefix + strconv.Itoa(pid) }

// Find lists the runs that go on in this network namespace, by process: those of root and of this user.
func Find() ([]Run, error) {
	table, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, err
	}
	var pids []int
	for line := range strings.Lines(string(table)) {
		// Connections have the name, too. Anybody's name may have spaces, and ends of lines.
		_, rest, is := strings.Cut(line, " "+prefix)
		if pid, err := strconv.Atoi(strings.TrimSpace(rest)); is && err == nil && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	var all []Run
	for _, pid := range pids {
		if r, err := ask(context.Background(), pid, request{Show: true}, patience); err == nil && r.Run != nil && r.Run.PID == pid {
			all = append(all, *r.Run)
		}
	}
	return all, nil
}

// waitDone is how long a command may take: longer than a service's program may take to start again. To scale a crowd takes as long as it does: a
// minute and more for thousands. When the run ends, so does the wait.
const waitDone = time.Minute

// Tell tells the run of a process something, and returns what came of it. When the context ends, nobody waits any more; the run does
// what it was told.
func Tell(ctx context.Context, pid int, c event.Command) (event.Done, error) {
	wait := waitDone
	if c.Scale != 0 {
		wait = 0
	}
	r, err := ask(ctx, pid, request{Command: &c}, wait)
	switch {
	case ctx.Err() != nil:
		return event.Done{}, ctx.Err()
	case err != nil:
		return event.Done{}, heddle.Wrap(heddle.CrowdFailed, "tell crowd of process", strconv.Itoa(pid), err, "see 'heddle crowd status'")
	case r.Error != nil:
		return event.Done{}, r.Error
	}
	return r.Done, nil
}

// End ends the run of a process, and waits until the run says that it has ended. A run that is killed does not say so, which is an
// error. When the context ends, nobody waits any more; the run ends all the same.
func End(ctx context.Context, pid int) error {
	r, err := ask(ctx, pid, request{End: true}, 0)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return heddle.Wrap(heddle.CrowdFailed, "end crowd of process", strconv.Itoa(pid), err,
			"see 'heddle crowd status' whether it goes on; if it was killed, 'heddle lab list' shows the lab that it left")
	case r.Error != nil:
		return r.Error
	}
	return nil
}

// ask asks the run of a process, and waits so long for its reply; 0 is until the run ends, or the context.
func ask(ctx context.Context, pid int, q request, wait time.Duration) (r reply, err error) {
	c, err := net.DialTimeout("unix", name(pid), patience)
	if err != nil {
		return r, err
	}
	defer c.Close()
	if !trusted(c.(*net.UnixConn)) {
		return r, fmt.Errorf("process %d is another user's", pid)
	}
	c.SetWriteDeadline(time.Now().Add(patience))
	if err := json.NewEncoder(c).Encode(q); err != nil {
		return r, err
	}
	if wait > 0 {
		c.SetReadDeadline(time.Now().Add(wait))
	}
	defer context.AfterFunc(ctx, func() { c.SetReadDeadline(time.Unix(1, 0)) })()
	text, err := io.ReadAll(io.LimitReader(c, mostReply))
	if err == nil && len(text) == 0 {
		err = errors.New("it ended without a reply")
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}

// trusted reports whether the other end is root's or this user's: anybody may use such a name.
func trusted(c *net.UnixConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	ok := false
	err = raw.Control(func(fd uintptr) {
		cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		ok = err == nil && (cred.Uid == 0 || int(cred.Uid) == os.Geteuid())
	})
	return err == nil && ok
}
