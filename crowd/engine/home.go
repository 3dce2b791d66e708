package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// homes is the folder of those who have containers: a folder each, by the number of the crowd's process.
const homes = "/run/heddle-crowd"

// home is the folder of a crowd that has containers, with what a client needs, and the gate.
type home struct {
	crowd string // the process, in digits
	as    string
	held  *os.File // nil of a crowd that is dead
}

func (h home) path(name string) string { return filepath.Join(homes, h.crowd, name) }

// gate is a folder that all containers see, with two files. The crowd has a lock of the first as long as its process lives, and the first
// process of each container waits for that. So containers end with the crowd, however that ends.
// The second one's lock they take one after the other.
const (
	gate   = "gate"
	living = gate + "/living"
	turn   = gate + "/turn"
)

// The file that names the client.
const clientFile = "client"

// take makes the folder of this process. It is whole, and locked, when it gets its name: others take it for a dead crowd's before.
func take(as string) (h home, err error) {
	h = home{crowd: strconv.Itoa(os.Getpid()), as: as}
	// Nobody else may have the locks: who has one keeps containers from ending, and their crowd from being removed.
	if err = os.MkdirAll(homes, 0o700); err != nil {
		return h, err
	}
	making := h.path("") + ".new"
	if err = os.RemoveAll(making); err == nil {
		err = os.MkdirAll(filepath.Join(making, gate), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(making, clientFile), []byte(as), 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(making, turn), nil, 0o644)
	}
	if err == nil {
		h.held, err = os.OpenFile(filepath.Join(making, living), os.O_CREATE|os.O_RDWR, 0o644)
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

// alone does something with a dead crowd while none of its containers ends by itself, and nobody else does the like. What another one has
// removed meanwhile need not be.
func (h home) alone(do func() error) error {
	f, err := os.Open(h.path(turn))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := lock(f, unix.LOCK_EX); err != nil {
		return err
	}
	if _, err := os.Stat(h.path(clientFile)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return do()
}

// dead is the folder of that name, if it is of a crowd whose process has ended.
func dead(name string) (h home, is bool) {
	if _, err := strconv.Atoi(name); err != nil {
		return h, false
	}
	h = home{crowd: name}
	f, err := os.Open(h.path(living))
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
