package vpc

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// Delete removes a VPC without networks, whose agent has ended: its namespace, and last its state folder, so that a Delete that was cut
// off can be repeated. It reports whether there was one.
func Delete(ctx context.Context, name string) (existed bool, err error) {
	return locked(ctx, name, func() error { return remove(name) })
}

// DeleteCommands are what Delete does, as a person could type it.
func DeleteCommands(ctx context.Context, name string) (commands []string, err error) {
	_, err = locked(ctx, name, func() error {
		if _, err := os.Stat(Netns(name)); err == nil { // there is none from a boot until the agent starts
			commands = append(commands, heddle.CommandLine([]string{"ip", "netns", "delete", heddle.PrefixVPCNetns + name}))
		}
		commands = append(commands, heddle.CommandLine([]string{"rm", "-r", "-f", RunDir(name), StateDir(name)}))
		return nil
	})
	return commands, err
}

// locked calls a function for a VPC that is there and may be deleted, and lets nobody make or delete one meanwhile.
func locked(ctx context.Context, name string, f func() error) (existed bool, err error) {
	if err := heddle.CheckVPCName(name); err != nil {
		return false, err
	}
	all, err := List()
	if err != nil || !slices.Contains(all, name) {
		return false, err
	}
	unlock, err := lock()
	if err == nil {
		defer unlock()
		err = unused(ctx, name)
	}
	if err == nil {
		err = f()
	}
	if err == nil {
		return true, nil
	}
	return true, heddle.Wrap(heddle.KernelRefused, "delete VPC", name, err, "run it as root, and call again")
}

// unused refuses a VPC whose agent runs, or that has interfaces besides its loopback.
func unused(ctx context.Context, name string) error {
	if conn, err := (&net.Dialer{}).DialContext(ctx, "unix", Socket(name)); err == nil {
		conn.Close()
		return heddle.Errorf(heddle.AgentRuns, "delete VPC", name, "its agent runs", "delete its networks, and stop the agent ('systemctl disable --now heddled-vpc@"+name+"')")
	}
	var links []string
	if is, err := isNamespace(Netns(name)); err != nil || !is {
		return nil
	}
	err := Do(Netns(name), func() error {
		found, err := net.Interfaces()
		for _, i := range found {
			if i.Name != "lo" {
				links = append(links, i.Name)
			}
		}
		return err
	})
	if err == nil && len(links) > 0 {
		return heddle.Errorf(heddle.NetworkInUse, "delete VPC", name, fmt.Sprintf("its namespace has %s: %s", heddle.Count(len(links), "interface"), strings.Join(links, ", ")),
			"start its agent ('systemctl start heddled-vpc@"+name+"'), delete its networks, and end its peerings ('heddle vpc unpeer'), also those that other VPCs have alone")
	}
	return err
}

func remove(name string) error {
	if is, err := isNamespace(Netns(name)); err == nil && is {
		if err := unix.Unmount(Netns(name), unix.MNT_DETACH); err != nil {
			return &os.PathError{Op: "unmount", Path: Netns(name), Err: err}
		}
	}
	if err := os.Remove(Netns(name)); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := os.RemoveAll(RunDir(name)); err != nil {
		return err
	}
	return os.RemoveAll(StateDir(name))
}
