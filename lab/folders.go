package lab

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/heddle-network/heddle"
)

const specName = "spec.json"

// ownFolders are the folders of which every host has its own, on the disk that holds the
// lab's folder.
var ownFolders = []string{stateDir, "/etc/heddle", "/var/lib/docker", "/var/lib/containerd"}

// ownFolder returns the path of a host's own folder in the lab's: host1/var-lib-docker.
func ownFolder(hostFolder, own string) string {
	return filepath.Join(hostFolder, strings.ReplaceAll(strings.Trim(own, "/"), "/", "-"))
}

// makeFolders makes the lab's folders and cgroups.
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
			if err := os.MkdirAll(ownFolder(filepath.Join(l.folder, name), own), 0o711); err != nil {
				return heddle.Wrap(heddle.LabFailed, "make folders of", name, err, "")
			}
		}
	}
	if err := l.makeManagementFolder(); err != nil {
		return err
	}
	group := groupName(l.folder)
	// A folder in memory can be gone while its groups still exist. These accept no process,
	// since they have controllers for their children.
	if err := removeGroups(ctx, group); err != nil {
		return heddle.Wrap(heddle.LabFailed, "remove old cgroups of", l.Name, err, "end the processes in "+group)
	}
	if err := makeGroups(group, names); err != nil {
		return heddle.Wrap(heddle.LabFailed, "make cgroups of", l.Name, err, "")
	}
	return nil
}

// removeFolders removes everything that the lab has on the file system. The default parent
// folder is removed with the last lab; a parent that the user named stays.
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
