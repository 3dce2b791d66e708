package lab

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/heddle-network/heddle"
)

const specName = "spec.json"

// ownFolders are the folders that every host has for itself, on the disk that
// holds the lab's folder.
var ownFolders = []string{stateDir, "/etc/heddle", "/var/lib/docker", "/var/lib/containerd"}

// below is where a host's own folder lies in the lab's: host1/var-lib-docker.
func below(hostFolder, own string) string {
	return filepath.Join(hostFolder, strings.ReplaceAll(strings.Trim(own, "/"), "/", "-"))
}

// makeFolders makes all that the lab has on the file system.
func (l *Lab) makeFolders(ctx context.Context) error {
	var names []string
	for _, sw := range l.Topology.Switches {
		names = append(names, sw.Name)
	}
	for _, n := range l.Topology.Hosts {
		names = append(names, n.Name)
	}
	for _, name := range names {
		for _, own := range ownFolders {
			if err := os.MkdirAll(below(filepath.Join(l.folder, name), own), 0o711); err != nil {
				return heddle.Wrap(heddle.LabFailed, "make a folder of", name, err, "")
			}
		}
	}
	group := groupName(l.folder)
	// A folder in memory can be gone before its groups are, and what is left of
	// these takes no process: it has controllers for its children.
	if err := removeGroups(ctx, group); err != nil {
		return heddle.Wrap(heddle.LabFailed, "remove old cgroups of", l.Name, err, "end what is in "+group)
	}
	if err := makeGroups(group, names); err != nil {
		return heddle.Wrap(heddle.LabFailed, "make the cgroups of", l.Name, err, "")
	}
	return nil
}

// removeFolders removes all that the lab has on the file system. The default
// parent goes with the last lab; a parent that the user named is his.
func (l *Lab) removeFolders() error {
	if err := unmountBelow(l.folder); err != nil {
		return err
	}
	if err := os.RemoveAll(l.folder); err != nil {
		return err
	}
	if filepath.Dir(l.folder) == DefaultDir {
		os.Remove(DefaultDir) // refused while it holds another lab
	}
	return nil
}
