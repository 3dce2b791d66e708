package main

import (
	"net/netip"
	"os"
	"strings"
)

// sshServer is this host's address in the SSH connection by which the user is
// here (ssh(1), SSH_CONNECTION: client, its port, server, its port).
func sshServer() netip.Addr {
	words := strings.Fields(os.Getenv("SSH_CONNECTION"))
	if len(words) != 4 {
		return netip.Addr{}
	}
	a, _ := netip.ParseAddr(words[2])
	return a.WithZone("").Unmap()
}
