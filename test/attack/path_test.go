package attack_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// pathAttacks inject through paths, ids and names.
func pathAttacks() []doorAttack {
	return []doorAttack{
		{class: "path", name: "the host's own namespace by other names", try: hostByOtherNames, control: func(t *testing.T, h *hall) bool {
			// the names do lead to namespaces: to a container's, one is taken
			link := filepath.Join(t.TempDir(), "to-pod")
			cell.Netns(t, "linked")
			cell.Must(t, os.Symlink("/run/netns/linked", link))
			defer h.Detach(ctx, idOf("linked"))
			return h.ask(idOf("linked"), link) == nil
		}},
		{class: "path", name: "what is no network namespace", try: noNamespace, control: func(t *testing.T, _ *hall) bool {
			f, err := os.Open("/proc/self/ns/mnt") // which can be opened
			if err == nil {
				f.Close()
			}
			return err == nil
		}},
		{class: "path", name: "a FIFO that waits for a reader", try: func(t *testing.T, h *hall) bool {
			return wakes(t, h, func(path string) { h.ask(idOf("fifo"), path) })
		}, control: func(t *testing.T, h *hall) bool {
			return within(world.Patience, func() bool {
				return wakes(t, h, func(path string) {
					if fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK, 0); err == nil {
						time.Sleep(100 * time.Millisecond)
						unix.Close(fd)
					}
				})
			})
		}},
		{class: "path", name: "ids and interface names that are paths", modes: spaced + " host", try: badIDs, control: func(t *testing.T, h *hall) bool {
			path := cell.Netns(t, "fine")
			id := heddle.EndpointID{Container: "fine..id", IfName: "$(id)"}
			defer h.Detach(ctx, id)
			return h.ask(id, path) == nil // odd, but no path
		}},
		{class: "path", name: "headers in CNI variables", try: func(t *testing.T, h *hall) bool {
			for _, v := range []string{"CNI_NETNS=/run/netns/cni\r\nCni-Ifname: evil0", "CNI_ARGS=IgnoreUnknown=1;A=B\r\nCni-Ifname: evil0",
				"CNI_ARGS=IgnoreUnknown=1;A=B\r\n\r\nPOST /v1/cni HTTP/1.0\r\nCni-Ifname: evil0", "CNI_IFNAME=evil0\r\n", "CNI_CONTAINERID=cni\r\nCni-Ifname: evil0"} {
				if addCNI(t, h, v) {
					return true
				}
			}
			return false
		}, control: func(t *testing.T, h *hall) bool { return addCNI(t, h, "CNI_IFNAME=evil0") }},
		{class: "path", name: "plugin type and network name that are paths", try: func(t *testing.T, h *hall) bool {
			before := tree(t, h.dir)
			for _, conf := range []string{`"name":"../../evil","type":"heddle-cni"`, `"name":"a/b","type":"../heddle-cni"`, `"name":"` + h.mode + `","type":"heddle-cni","ipam":{"type":"../../../bin/sh"}`} {
				runCNI(t, h, `{"cniVersion":"1.0.0",`+conf+`}`)
			}
			return tree(t, h.dir) != before
		}},
	}
}

func hostByOtherNames(t *testing.T, h *hall) bool {
	dir := t.TempDir()
	link := filepath.Join(dir, "to-host")
	own := fmt.Sprintf("/proc/%d/ns/net", h.Pid())
	cell.Must(t, os.Symlink(own, link))
	bound := filepath.Join(dir, "bound")
	cell.Must(t, os.WriteFile(bound, nil, 0o644))
	cell.Must(t, unix.Mount(own, bound, "", unix.MS_BIND, ""))
	defer unix.Unmount(bound, unix.MNT_DETACH)
	for _, path := range []string{"/proc/self/ns/net", "/proc/thread-self/ns/net", "/run/netns/../../proc/self/ns/net", own, link, bound, "/proc/self/task/../ns/net"} {
		if err := h.ask(idOf("host"), path); !refusedAs(err, heddle.BadNamespace) {
			t.Logf("%s: %v", path, err)
			return true
		}
	}
	return false
}

func noNamespace(t *testing.T, h *hall) bool {
	dir := t.TempDir()
	fifo, huge := filepath.Join(dir, "fifo"), filepath.Join(dir, "huge")
	cell.Must(t, unix.Mkfifo(fifo, 0o666))
	cell.Must(t, os.WriteFile(huge, nil, 0o644))
	cell.Must(t, os.Truncate(huge, 1<<40))
	for _, path := range []string{"", "/", ".", "ns/net", "/dev/null", "/dev/zero", "/proc/self/ns/mnt", "/proc/self/ns/user", "/proc/self/ns/pid",
		"/proc/self/mem", fifo, huge, h.Socket, "/run/netns/\x00one", "/" + strings.Repeat("x", 1<<19), "/proc/self/ns/net/../net"} {
		if err := h.ask(idOf("none"), path); !refusedAs(err, heddle.BadNamespace) {
			t.Logf("%.60q: %v", path, err)
			return true
		}
	}
	return false
}

// wakes reports whether somebody who waits for a reader of a FIFO is woken by
// what is done with its path: to open a file is a deed.
func wakes(t *testing.T, h *hall, deed func(path string)) bool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	cell.Must(t, unix.Mkfifo(path, 0o666))
	woken := make(chan struct{})
	go func() {
		if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			f.Close()
		}
		close(woken)
	}()
	time.Sleep(50 * time.Millisecond) // it waits by now
	deed(path)
	select {
	case <-woken:
		return true
	case <-time.After(200 * time.Millisecond):
	}
	if f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0); err == nil { // let it go
		<-woken
		f.Close()
	}
	return false
}

func badIDs(t *testing.T, h *hall) bool {
	before := tree(t, h.dir)
	path := cell.Netns(t, "named")
	for _, id := range []heddle.EndpointID{
		{Container: "../../etc/passwd", IfName: "eth0"}, {Container: "a/b", IfName: "eth0"}, {Container: "", IfName: "eth0"}, {Container: "-rf", IfName: "eth0"},
		{Container: "a\nb", IfName: "eth0"}, {Container: "a\x00b", IfName: "eth0"}, {Container: strings.Repeat("x", 129), IfName: "eth0"},
		{Container: "named", IfName: "../eth0"}, {Container: "named", IfName: ".."}, {Container: "named", IfName: "eth0:1"},
		{Container: "named", IfName: "a b"}, {Container: "named", IfName: "eth0\n"}, {Container: "named", IfName: strings.Repeat("x", 16)},
	} {
		if err := h.ask(id, path); !refusedAs(err, heddle.BadID) && !refusedAs(err, heddle.BadIfName) {
			t.Logf("%q: %v", id, err)
			return true
		}
	}
	return tree(t, h.dir) != before
}

// tree lists the files below a folder.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	cell.Must(t, filepath.Walk(dir, func(path string, _ os.FileInfo, err error) error {
		all = append(all, path)
		return err
	}))
	return strings.Join(all, "\n")
}

// runCNI calls the CNI program with a network configuration.
func runCNI(t *testing.T, h *hall, conf string, env ...string) {
	t.Helper()
	cmd := exec.Command(cell.Build(t, "heddle-cni"))
	cmd.Stdin = strings.NewReader(conf)
	cmd.Env = append([]string{"HEDDLE_SOCKET=" + h.Socket, "HEDDLE_CNI_QUEUE=" + filepath.Join(h.dir, "queue"), "CNI_COMMAND=ADD", "CNI_CONTAINERID=cni",
		"CNI_NETNS=/run/netns/cni", "CNI_IFNAME=eth7", "CNI_PATH=/bin"}, env...)
	out, _ := cmd.CombinedOutput()
	t.Logf("%q: %.200s", env, out)
}

// addCNI adds with one variable changed, and reports whether there is an
// interface named evil0 then.
func addCNI(t *testing.T, h *hall, variable string) bool {
	t.Helper()
	cell.TrySh("ip netns add cni")
	defer cell.TrySh("ip netns del cni")
	runCNI(t, h, `{"cniVersion":"1.0.0","name":"`+h.mode+`","type":"heddle-cni"}`, variable)
	evil := false
	all, err := h.Endpoints(ctx)
	cell.Must(t, err)
	for _, e := range all {
		if strings.HasPrefix(e.ID.Container, "cni") {
			evil = evil || strings.HasPrefix(e.ID.IfName, "evil")
			_, err := h.Detach(ctx, e.ID)
			cell.Must(t, err)
		}
	}
	return evil
}
