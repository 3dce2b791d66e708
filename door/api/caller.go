package api

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/user"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door"
	"github.com/heddle-network/heddle/door/wire"
)

// Listen makes the socket, for root and its group only (0660). It replaces a socket that a
// dead agent left. Another running agent is impossible, since it would hold the lock of
// the run folder.
func Listen(path, group string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, heddle.Wrap(heddle.AgentRuns, "remove old socket", path, err, "remove the file by hand")
	}
	old := unix.Umask(0o117)
	l, err := net.Listen("unix", path)
	unix.Umask(old)
	if err != nil {
		return nil, heddle.Wrap(heddle.NoPermission, "listen on socket", path, err,
			"give a folder that can be written with --run-dir")
	}
	if group == "" {
		return l, nil
	}
	g, err := user.LookupGroup(group)
	if err != nil {
		l.Close()
		return nil, heddle.Wrap(heddle.BadArgument, "look up socket group", group, err,
			"create the group with 'groupadd --system "+group+"', or leave --socket-group out")
	}
	gid, _ := strconv.Atoi(g.Gid)
	return l, os.Chown(path, 0, gid)
}

type callerKey struct{}

// caller is the process at the other end of a connection.
type caller struct {
	*unix.Ucred
	groups []uint32
}

// callerGroups asks for the caller's supplementary groups (SO_PEERGROUPS).
func callerGroups(fd uintptr) []uint32 {
	groups := make([]uint32, 1<<10)
	size := uint32(len(groups) * 4)
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS,
		uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return nil
	}
	return groups[:size/4]
}

// withCaller asks the kernel for the process at the other end (SO_PEERCRED, unix(7)).
func withCaller(ctx context.Context, c net.Conn) context.Context {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return ctx
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return ctx
	}
	raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			ctx = context.WithValue(door.WithCaller(ctx, cred.Pid), callerKey{}, &caller{cred, callerGroups(fd)})
		}
	})
	return ctx
}

// authorize refuses callers that are neither root, nor the agent's own user, nor in the
// socket's group. Having the socket open is not enough: it may have been passed on, or
// opened by a process that has dropped its rights.
func (s *Server) authorize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cred, _ := r.Context().Value(callerKey{}).(*caller)
		if cred == nil || !s.permitted(r, cred) {
			who := "unknown caller"
			if cred != nil {
				who = fmt.Sprintf("uid %d, pid %d", cred.Uid, cred.Pid)
			}
			s.log.Warn("caller refused", "caller", who, "path", r.URL.Path)
			wire.Write(w, nil, heddle.Errorf(heddle.NoPermission, "call agent as", who,
				"this user is neither root nor in the socket's group", "call as root, or join the socket's group"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) permitted(r *http.Request, cred *caller) bool {
	if cred.Uid == 0 || int(cred.Uid) == os.Geteuid() {
		return true
	}
	address, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	var st unix.Stat_t
	if unix.Stat(address.String(), &st) != nil || st.Gid == 0 {
		return false
	}
	return cred.Gid == st.Gid || slices.Contains(cred.groups, st.Gid)
}
