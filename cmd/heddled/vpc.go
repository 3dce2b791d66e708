package main

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode"
	"github.com/heddle-network/heddle/mode/gateway"
	"github.com/heddle-network/heddle/mode/peering"
	"github.com/heddle-network/heddle/vpc"
)

// forVPC gives the agent of a VPC its own folders, unless others are named, and no door for engines: those are the host's. It refuses what
// needs a way out of the namespace.
func (c *config) forVPC() error {
	if c.VPC == "" {
		return nil
	}
	if err := heddle.CheckVPCName(c.VPC); err != nil {
		return err
	}
	for _, other := range []struct{ key, value string }{{"store", c.Store}, {"join", c.Join}, {"nicGrant", c.NICGrant}, {"nicCloud", c.NICCloud}, {"dockerSocket", c.DockerSocket}, {"dockerHost", c.DockerHost}} {
		if other.value != "" && other.value != "none" {
			return heddle.Errorf(heddle.BadArgument, "read configuration", "vpc and "+other.key, "a VPC's networks are on this host alone, and for virtual machines", "leave one of them out")
		}
	}
	usual := defaultConfig()
	if c.StateDir == usual.StateDir {
		c.StateDir = vpc.StateDir(c.VPC)
	}
	if c.RunDir == usual.RunDir {
		c.RunDir = vpc.RunDir(c.VPC)
	}
	c.Store, c.DockerSocket, c.DockerHost = "none", "none", "none"
	return nil
}

// modes are those of the agent's networks. Peerings are a VPC's, and a way out by the host has a half in both.
func (c config) modes() []heddle.Mode {
	if c.VPC == "" {
		return mode.OfHost()
	}
	return append(mode.All(), peering.Mode{VPC: c.VPC}, gateway.OfVPC{VPC: c.VPC})
}

// enterVPC has this process executed again in the namespace of the VPC, unless it is there. The kernel keeps the namespace of the thread that
// executes, and ends all others (execve(2)).
func enterVPC(name string) error {
	if name == "" || vpc.Inside(name) {
		return nil
	}
	runtime.LockOSThread()
	if err := vpc.Enter(name); err != nil {
		return err
	}
	program, err := os.Executable() // by this name: the kernel calls the process by it
	if err == nil {
		err = unix.Exec(program, os.Args, os.Environ())
	}
	return heddle.Wrap(heddle.BadNamespace, "start in VPC", name, err, "look whether the program can be executed")
}
