package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// homes is the folder of those who have containers: a folder each, by the number of the crowd's process.
const homes = "/run/heddle-crowd"

// home is the folder of a crowd that has containers. The crowd holds a lock of a file in it as long as its process lives, and
// its containers wait for that lock, and end when they have it. So they end with the crowd, however that ends.
type home struct {
	crowd string // the process, in digits
	as    string
	held  *os.File // nil of a crowd that is dead
}

func (h home) path(name string) string { return filepath.Join(homes, h.crowd, name) }

// lock is the file's name, also in the root of containers.
const lock = "lock"

// The file that names the client.
const clientFile = "client"

// take makes the folder of this process. It is whole, and locked, when it gets its name: others take it for a dead crowd's before.
func take(as string) (h home, err error) {
	h = home{crowd: strconv.Itoa(os.Getpid()), as: as}
	making := h.path("") + ".new"
	if err = os.RemoveAll(making); err == nil {
		err = os.MkdirAll(making, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(making, clientFile), []byte(as), 0o644)
	}
	if err == nil {
		h.held, err = os.OpenFile(filepath.Join(making, lock), os.O_CREATE|os.O_RDWR, 0o644)
	}
	if err == nil {
		err = unix.Flock(int(h.held.Fd()), unix.LOCK_EX)
	}
	if err == nil {
		err = os.Rename(making, h.path(""))
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(making))
		h.held.Close()
	}
	return h, err
}

// leave removes the folder, and that of all if it was the last one.
func (h home) leave() error {
	if h.crowd == "" {
		return nil
	}
	err := os.RemoveAll(h.path(""))
	h.held.Close()
	os.Remove(homes) // unless it has others
	return err
}

// dead is the folder of that name, if it is of a crowd whose process has ended.
func dead(name string) (h home, is bool) {
	if _, err := strconv.Atoi(name); err != nil {
		return h, false
	}
	h = home{crowd: name}
	f, err := os.Open(h.path(lock))
	if err != nil {
		return h, false
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		return h, false
	}
	as, err := os.ReadFile(h.path(clientFile))
	h.as = strings.TrimSpace(string(as))
	return h, err == nil
}

// argContainer has heddle be the first process of a user's container.
const argContainer = "crowd-container"

// Dispatch makes this process the first one of a user's container, if it was started as that: it does nothing until the crowd
// has ended. It returns if it is another one.
func Dispatch(args []string) {
	if len(args) != 1 || args[0] != argContainer || os.Getpid() != 1 {
		return
	}
	f, err := os.Open("/" + lock)
	for err == nil {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_SH); err == nil {
			os.Exit(0)
		}
		if errors.Is(err, unix.EINTR) {
			err = nil
		}
	}
	fmt.Fprintln(os.Stderr, "wait for the crowd:", err)
	os.Exit(1)
}
