package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/lab"
)

func lookLinkNames(ctx context.Context, h *Host) Finding {
	links, err := h.Links(ctx)
	if err != nil {
		return unknown(err)
	}
	var evidence, remedy []string
	for _, l := range links {
		if isOurName(l.Name) && !l.ours() {
			evidence, remedy = append(evidence, fmt.Sprintf("ip link: %s: alias %q", l.Name, l.Alias)), append(remedy, "ip link set "+l.Name+" name OTHER")
		}
	}
	return trouble(evidence, remedy...)
}

// staleNetns lists plain files among the named namespaces. It leaves out new files: a namespace
// may be about to be mounted there.
func staleNetns() (paths []string) {
	all, _ := filepath.Glob("/run/netns/*")
	for _, path := range all {
		var fs unix.Statfs_t
		st, err := os.Lstat(path)
		if err != nil || !st.Mode().IsRegular() || time.Since(st.ModTime()) < time.Minute {
			continue
		}
		if unix.Statfs(path, &fs) == nil && fs.Type != unix.NSFS_MAGIC {
			paths = append(paths, path)
		}
	}
	return paths
}

func lookNetnsFiles(context.Context, *Host) Finding {
	var evidence, remedy []string
	for _, path := range staleNetns() {
		evidence, remedy = append(evidence, path+": a plain file, nothing is mounted there"), append(remedy, "rm "+path)
	}
	return trouble(evidence, remedy...)
}

func fixNetnsFiles(context.Context, *Host) (done []string, err error) {
	for _, path := range staleNetns() {
		// if a namespace was mounted there meanwhile, the file is busy and stays
		if one := os.Remove(path); one != nil {
			err = errors.Join(err, one)
			continue
		}
		done = append(done, "rm "+path)
	}
	return done, err
}

func lookLabs(_ context.Context, h *Host) Finding {
	all, err := lab.List(h.Labs)
	if err != nil {
		return unknown(err)
	}
	var evidence, remedy []string
	for _, l := range all {
		// a new lab may still be in the making
		if !l.Alive() && time.Since(l.Created) > time.Minute {
			evidence = append(evidence, fmt.Sprintf("%s: not all of its hosts live", filepath.Join(h.Labs, l.Name)))
			remedy = append(remedy, "heddle lab down "+l.Name)
		}
	}
	return trouble(evidence, remedy...)
}

func lookSocketFile(_ context.Context, h *Host) Finding {
	c, err := net.DialTimeout("unix", h.Socket, time.Second)
	if err == nil {
		c.Close()
		return fine("connect " + h.Socket + ": answered")
	}
	if errors.Is(err, unix.ECONNREFUSED) {
		return trouble([]string{err.Error()})
	}
	return fine(err.Error())
}

func lookStrayFiles(_ context.Context, h *Host) Finding {
	var evidence, remedy []string
	for _, dir := range []string{h.StateDir, h.RunDir} {
		for _, pattern := range []string{"*.new", "*.tmp", "*.corrupt"} {
			files, _ := filepath.Glob(filepath.Join(dir, pattern))
			for _, f := range files {
				evidence, remedy = append(evidence, f), append(remedy, "rm "+f)
			}
		}
	}
	return trouble(evidence, remedy...)
}
