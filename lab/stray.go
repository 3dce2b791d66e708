package lab

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// netnsSet holds the network namespaces of a lab that is being removed, by the names of their
// hosts. They stay open meanwhile: otherwise the kernel could give a namespace's inode number
// to a new one, and a foreign process would seem to be in a host.
type netnsSet map[string]*os.File

func (l *Lab) openNetns() netnsSet {
	all := netnsSet{}
	for _, h := range l.allHosts() {
		if !h.Alive() {
			continue
		}
		if f, err := os.Open(h.Netns); err == nil {
			all[h.Name] = f
		}
	}
	return all
}

// awaitEmpty waits until no process is in one of the namespaces, closes them, and returns the
// processes that stay. A process that only entered the network namespace (nsenter --net) does
// not end with the host, and we must not kill it.
func (s netnsSet) awaitEmpty(ctx context.Context) []string {
	defer s.close()
	ctx, cancel := context.WithTimeout(ctx, strayTime)
	defer cancel()
	for {
		strays := s.processes()
		if len(strays) == 0 || pause(ctx, 20*time.Millisecond) != nil {
			return strays
		}
	}
}

func (s netnsSet) close() {
	for _, f := range s {
		f.Close()
	}
}

// processes lists, as text, the processes that are in one of the namespaces.
func (s netnsSet) processes() []string {
	hosts := map[string]string{}
	for name, f := range s {
		if inode, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd())); err == nil {
			hosts[inode] = name
		}
	}
	var found []string
	for _, pid := range processes() {
		inode, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
		if host, ok := hosts[inode]; ok && err == nil {
			comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			found = append(found, fmt.Sprintf("%d (%s) in %s", pid, strings.TrimSpace(string(comm)), host))
		}
	}
	return found
}
