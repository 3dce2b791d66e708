// Package vpc has the VPCs of this host (virtual private clouds). Each is a network namespace with an agent of its own, heddled --vpc
// NAME: what two of them have in common are neither addresses nor routes, rules, connections or neighbours, since the kernel keeps all of
// these for each namespace. The namespace is pinned by a file, so it outlives its agent.
package vpc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// stateDirs has a state folder for each VPC's agent.
const stateDirs = "/var/lib/heddle/vpc"

// runDirs has a folder for each VPC's agent.
var runDirs = RunDir("")

// RunDir and StateDir are the folders of the VPC's agent, Socket is where it listens, Netns is the file of its namespace.
func RunDir(name string) string   { return filepath.Dir(Socket(name)) }
func StateDir(name string) string { return filepath.Join(stateDirs, name) }
func Socket(name string) string   { return heddle.VPCSocket(name) }
func Netns(name string) string    { return heddle.VPCNetns(name) }

// List returns the names of the VPCs of this host: those that have a namespace, and those that have a state folder, whose agents have not
// run since the boot.
func List() ([]string, error) {
	var all []string
	for dir, prefix := range map[string]string{filepath.Dir(heddle.VPCNetns("")): heddle.PrefixVPCNetns, stateDirs: ""} {
		entries, err := os.ReadDir(dir)
		if err != nil && !os.IsNotExist(err) {
			return nil, heddle.Wrap(heddle.NoPermission, "list VPCs in", dir, err, "run it as root")
		}
		for _, e := range entries {
			if name, is := strings.CutPrefix(e.Name(), prefix); is && heddle.CheckVPCName(name) == nil {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
