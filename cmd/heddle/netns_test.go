package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFindNetns(t *testing.T) {
	here, _ := os.Getwd()
	for _, c := range []struct {
		netns string
		pid   int
		path  string
		id    string
	}{
		{"web", 0, "/run/netns/web", "web"},
		{"/run/netns/web", 0, "/run/netns/web", "web"},
		{"/var/run/docker/netns/0a1b2c", 0, "/var/run/docker/netns/0a1b2c", "0a1b2c"},
		{"/proc/77/ns/net", 0, "/proc/77/ns/net", "pid-77"},
		{"", 77, "/proc/77/ns/net", "pid-77"},
		{"./net", 0, filepath.Join(here, "net"), "net"},
	} {
		path, err := findNetns(c.netns, c.pid)
		if err != nil || path != c.path || defaultContainerID(path) != c.id {
			t.Errorf("%q %d: %s, %s, %v", c.netns, c.pid, path, defaultContainerID(path), err)
		}
	}
}

func TestWithInterface(t *testing.T) {
	for _, c := range []struct{ word, ifname, want string }{{"web/eth1", "", "web/eth1"}, {"web", "eth1", "web/eth1"}, {"web/eth1", "eth1", "web/eth1"}, {"web", "", "web"}, {"web/eth0", "eth1", ""}} {
		if word, err := withInterface(c.word, c.ifname); word != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%v: %s, %v", c, word, err)
		}
	}
}
