// Package coexist_test sets real foreign firewalls against our forwarded traffic.
package coexist_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/heddle-network/heddle/kernel/coexist"

	"golang.org/x/sys/unix"
)

// A lab is a host with containers, in namespaces of its own:
//
//	near ── hd1 ┐                             near and twin share a bridge,
//	            ├ hb1 ── host ── up0 ── out   routed stands alone; out is the
//	twin ── hd2 ┘         │                   world outside
//	routed ───────────── hd3
type lab struct {
	prefix string
	c      *coexist.Firewalls
}

var labs atomic.Int32

// addresses of each namespace, IPv4 and IPv6.
var addresses = map[string][2]string{
	"near":   {"10.77.1.2", "fd77:1::2"},
	"twin":   {"10.77.1.3", "fd77:1::3"},
	"routed": {"10.77.3.2", "fd77:3::2"},
	"out":    {"10.77.2.2", "fd77:2::2"},
}

func newLab(t *testing.T) *lab {
	t.Helper()
	need(t, "ip", "nft", "nsenter", "ping")
	if os.Geteuid() != 0 {
		t.Fatal("needs root")
	}
	l := &lab{prefix: fmt.Sprintf("co-%d-%d-", os.Getpid(), labs.Add(1))}
	t.Cleanup(l.remove)
	for _, name := range []string{"host", "near", "twin", "routed", "out"} {
		run(t, "", "ip", "netns", "add", l.prefix+name)
		l.sysctl(t, name, "net.ipv6.conf.default.accept_dad=0", "net.ipv6.conf.all.accept_dad=0")
		run(t, "", "ip", "-n", l.prefix+name, "link", "set", "lo", "up")
	}
	l.sysctl(t, "host", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
	if bridgeFiltered() {
		l.sysctl(t, "host", "net.bridge.bridge-nf-call-iptables=1", "net.bridge.bridge-nf-call-ip6tables=1")
	}
	run(t, "", "ip", "-n", l.prefix+"host", "link", "add", "hb1", "type", "bridge")
	run(t, "", "ip", "-n", l.prefix+"host", "link", "set", "hb1", "up")
	l.address(t, "host", "hb1", "10.77.1.1", "fd77:1::1")
	l.wire(t, "near", "hd1", "hb1")
	l.wire(t, "twin", "hd2", "hb1")
	l.wire(t, "routed", "hd3", "")
	l.address(t, "host", "hd3", "10.77.3.1", "fd77:3::1")
	l.wire(t, "out", "up0", "")
	l.address(t, "host", "up0", "10.77.2.1", "fd77:2::1")
	for name := range addresses {
		l.listen(t, name)
	}
	l.mustPass(t, "before the foreign firewall")
	l.in(t, "host", func() {
		var err error
		if l.c, err = coexist.Open(); err != nil {
			t.Fatal(err)
		}
	})
	t.Cleanup(func() { l.c.Close() })
	return l
}

func (l *lab) remove() {
	for _, name := range []string{"near", "twin", "routed", "out", "host"} {
		exec.Command("ip", "netns", "del", l.prefix+name).Run()
	}
}

// wire joins a namespace's eth0 to the host's port, in a bridge if one is named.
func (l *lab) wire(t *testing.T, name, port, bridge string) {
	t.Helper()
	host := l.prefix + "host"
	run(t, "", "ip", "-n", host, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", l.prefix+name)
	if bridge != "" {
		run(t, "", "ip", "-n", host, "link", "set", port, "master", bridge)
	}
	run(t, "", "ip", "-n", host, "link", "set", port, "up")
	a := addresses[name]
	l.address(t, name, "eth0", a[0], a[1])
	run(t, "", "ip", "-n", l.prefix+name, "link", "set", "eth0", "up")
	gateway4, gateway6 := a[0][:len(a[0])-1]+"1", a[1][:len(a[1])-1]+"1"
	run(t, "", "ip", "-n", l.prefix+name, "route", "add", "default", "via", gateway4)
	run(t, "", "ip", "-n", l.prefix+name, "route", "add", "default", "via", gateway6)
}

func (l *lab) address(t *testing.T, name, link, ip4, ip6 string) {
	t.Helper()
	run(t, "", "ip", "-n", l.prefix+name, "address", "add", ip4+"/24", "dev", link)
	run(t, "", "ip", "-n", l.prefix+name, "address", "add", ip6+"/64", "dev", link, "nodad")
}

func (l *lab) sysctl(t *testing.T, name string, settings ...string) {
	t.Helper()
	l.in(t, name, func() {
		for _, s := range settings {
			key, value, _ := strings.Cut(s, "=")
			if err := os.WriteFile("/proc/sys/"+strings.ReplaceAll(key, ".", "/"), []byte(value), 0); err != nil {
				t.Error(err)
			}
		}
	})
}

// in runs f on a thread inside the namespace; the thread ends with it.
func (l *lab) in(t *testing.T, name string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		ns, err := os.Open("/run/netns/" + l.prefix + name)
		if err == nil {
			defer ns.Close()
			err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET)
		}
		if err != nil {
			t.Error(err)
			return
		}
		f()
	}()
	<-done
	if t.Failed() {
		t.FailNow()
	}
}

// host runs a program in the host's namespace.
func (l *lab) host(t *testing.T, args ...string) string {
	t.Helper()
	return run(t, "", append([]string{"nsenter", "--net=/run/netns/" + l.prefix + "host"}, args...)...)
}

// nft loads a script in the host's namespace.
func (l *lab) nft(t *testing.T, script string) {
	t.Helper()
	run(t, script, "nsenter", "--net=/run/netns/"+l.prefix+"host", "nft", "-f", "-")
}

func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed", p)
		}
	}
}

func run(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	var out, problem bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &problem
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s%s", args, err, problem.String(), out.String())
	}
	return out.String()
}
