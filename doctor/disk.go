package doctor

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func (h *Host) folders() []string { return []string{h.StateDir, h.RunDir} }

func lookDiskRoom(_ context.Context, h *Host) Finding {
	var read, evidence []string
	for _, dir := range h.folders() {
		var fs unix.Statfs_t
		if unix.Statfs(dir, &fs) != nil {
			continue
		}
		free := fs.Bavail * uint64(fs.Bsize)
		line := fmt.Sprintf("statfs %s: %d KiB free, %d of %d inodes free", dir, free>>10, fs.Ffree, fs.Files)
		read = append(read, line)
		// a file system without a limit on inodes shows 0 of 0
		if free < 16<<20 || fs.Files > 0 && fs.Ffree < 1000 {
			evidence = append(evidence, line)
		}
	}
	if len(evidence) == 0 {
		return fine(read...)
	}
	return trouble(evidence)
}

func lookDiskWritable(_ context.Context, h *Host) Finding {
	var evidence, remedy []string
	for _, dir := range h.folders() {
		var fs unix.Statfs_t
		if unix.Statfs(dir, &fs) == nil && fs.Flags&unix.ST_RDONLY != 0 {
			evidence, remedy = append(evidence, "statfs "+dir+": ro"), append(remedy, "mount -o remount,rw "+dir)
		}
	}
	return trouble(evidence, remedy...)
}

func lookFileSystem(volatile bool) func(context.Context, *Host) Finding {
	return func(_ context.Context, h *Host) Finding {
		dir := h.StateDir
		if volatile {
			dir = h.RunDir
		}
		var fs unix.Statfs_t
		if err := unix.Statfs(dir, &fs); err != nil {
			return skip(dir + ": " + err.Error())
		}
		line := fmt.Sprintf("statfs %s: type %#x", dir, fs.Type)
		if inMemory := fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.RAMFS_MAGIC; inMemory != volatile {
			return trouble([]string{line}, fileSystemRemedy(dir, volatile))
		}
		return fine(line)
	}
}

// fileSystemRemedy says how the folder comes to lie where it should. Where /run itself is on a disk, a
// folder below it is no remedy.
func fileSystemRemedy(dir string, volatile bool) string {
	switch {
	case !volatile:
		return "use a folder on a disk (--state-dir)"
	case strings.HasPrefix(dir, "/run/"):
		return "mount -t tmpfs -o mode=0755 tmpfs /run when the machine starts: here /run is on a disk"
	}
	return "use a folder below /run (--run-dir)"
}

func lookClock(_ context.Context, h *Host) Finding {
	now := time.Now()
	var evidence []string
	for _, path := range append(h.folders(), h.ledgers()...) {
		if st, err := os.Stat(path); err == nil && st.ModTime().After(now.Add(time.Minute)) {
			evidence = append(evidence, fmt.Sprintf("%s was written at %s; it is %s", path, formatTime(st.ModTime()), formatTime(now)))
		}
	}
	return trouble(evidence)
}

func formatTime(t time.Time) string {
	return strings.TrimSuffix(t.UTC().Format(time.RFC3339), "Z") + " UTC"
}
