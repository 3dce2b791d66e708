package main

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
)

// sshServer is this host's address in the user's SSH connection. sudo(8) removes the
// variable, so the parent processes are read, too, as far as permitted.
func sshServer() netip.Addr {
	if a := serverAddr(os.Getenv(sshVariable)); a.IsValid() {
		return a
	}
	const generations = 16
	for pid, i := os.Getppid(), 0; pid > 1 && i < generations; pid, i = parentPID(pid), i+1 {
		environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			continue
		}
		for _, v := range strings.Split(string(environment), "\x00") {
			if value, found := strings.CutPrefix(v, sshVariable+"="); found {
				return serverAddr(value)
			}
		}
	}
	return netip.Addr{}
}

// sshVariable holds client, its port, server, its port (ssh(1)).
const sshVariable = "SSH_CONNECTION"

func serverAddr(connection string) netip.Addr {
	words := strings.Fields(connection)
	if len(words) != 4 {
		return netip.Addr{}
	}
	a, _ := netip.ParseAddr(words[2])
	return a.WithZone("").Unmap()
}

// parentPID reads the fourth word of /proc/PID/stat (proc(5)); the second word is in
// parentheses and may contain spaces. It returns 0 if there is no parent.
func parentPID(pid int) (parent int) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	state := ""
	fmt.Sscan(rest, &state, &parent)
	return parent
}
