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
)

// prefix begins the names of the sockets; the process follows.
const prefix = "@heddle-crowd/"

func name(pid int) string { return prefix + strconv.Itoa(pid) }

// most is how long a run's description may be.
const most = 1 << 20

// Find lists the runs that go on in this network namespace, by process. Those of others than root, and of this user,
// are left out.
func Find() ([]Run, error) {
	table, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, err
	}
	var pids []int
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		rest, is := strings.CutPrefix(fields[len(fields)-1], prefix)
		if pid, err := strconv.Atoi(rest); is && err == nil && !slices.Contains(pids, pid) { // connections have the name, too
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	var all []Run
	for _, pid := range pids {
		if run, err := ask(pid); err == nil && run.PID == pid {
			all = append(all, run)
		}
	}
	return all, nil
}

func ask(pid int) (run Run, err error) {
	c, err := net.DialTimeout("unix", name(pid), patience)
	if err != nil {
		return run, err
	}
	defer c.Close()
	if !trusted(c.(*net.UnixConn)) {
		return run, fmt.Errorf("process %d is another user's", pid)
	}
	c.SetDeadline(time.Now().Add(patience))
	text, err := io.ReadAll(io.LimitReader(c, most))
	if err == nil {
		err = json.Unmarshal(text, &run)
	}
	return run, err
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
