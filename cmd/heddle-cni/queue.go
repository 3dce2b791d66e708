package main

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// maxQueue bounds the queue. Each entry is a directory entry and an inode; a
// host has fewer containers.
const maxQueue = 4096

// enqueue leaves a detach for the agent, which executes it when it starts and
// before every later call. An entry is an empty file whose name is the
// endpoint's id, "CONTAINER@IFNAME": a container's id has no '@', so no two ids
// share a name, the same DEL twice is one entry, and there is no content that
// could be half written.
func enqueue(q request, conf []byte) int {
	dir := setting(conf, "queue", "HEDDLE_CNI_QUEUE", "/var/lib/heddle/cni-queue")
	err := addEntry(dir, q.container+"@"+q.ifname)
	if err != nil && rootless() {
		return 0 // who reaches neither agent nor queue has attached nothing
	}
	if err != nil {
		return q.fail(conf, ioFailure, "agent unreachable, and "+q.command+" not queued in "+dir+": "+err.Error(),
			"Start it ('systemctl start heddled'), or make room in the queue's folder. ["+agentDown+"]")
	}
	os.Stderr.WriteString("heddle-cni: agent unreachable, " + q.command + " queued in " + dir + "\n")
	return 0
}

// addEntry creates the entry, and returns when it is on disk.
func addEntry(dir, name string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	path := dir + "/" + name
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if names, _ := folder.Readdirnames(maxQueue); len(names) == maxQueue {
			return errors.New("the queue is full")
		}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	return folder.Sync()
}
