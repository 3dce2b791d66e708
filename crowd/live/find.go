package live

import (
	"encoding/json"
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
	"github.com/heddle-network/heddle/crowd/diary"
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
		if r, err := ask(pid, request{Show: true}, patience); err == nil && r.Run != nil && r.Run.PID == pid {
			all = append(all, *r.Run)
		}
	}
	return all, nil
}

// waitDone is how long a command may take: longer than a rig waits for its player.
const waitDone = time.Minute

// Tell tells the run of a process something, and returns the events that go on when it is done.
func Tell(pid int, c event.Command) ([]diary.Event, error) {
	r, err := ask(pid, request{Command: &c}, waitDone)
	switch {
	case err != nil:
		return nil, heddle.Wrap(heddle.CrowdFailed, "tell crowd of process", strconv.Itoa(pid), err, "see 'heddle crowd status'")
	case r.Error != nil:
		return nil, r.Error
	}
	return r.Events, nil
}

// ask asks the run of a process, and waits so long for its reply.
func ask(pid int, q request, wait time.Duration) (r reply, err error) {
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
	c.SetReadDeadline(time.Now().Add(wait))
	text, err := io.ReadAll(io.LimitReader(c, mostReply))
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
