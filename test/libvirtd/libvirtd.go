// Package libvirtd runs libvirt's daemon for a test, apart from whatever libvirt this machine has: with its own files, and in mount and
// PID namespaces of its own, which end with the test's process, and with them all domains.
package libvirtd

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"
	"github.com/digitalocean/go-libvirt/socket/dialers"

	"github.com/heddle-network/heddle/test/poll"
)

// startTime limits how long libvirtd takes to listen, on a machine that runs all tests at the same time.
const startTime = time.Minute

// conf and qemuConf are the daemon's settings. It asks nobody who its callers are, leaves cgroups and /dev alone, and leaves QEMU the
// right to open TAPs itself.
const (
	conf = `unix_sock_dir = "%[1]s"
auth_unix_rw = "none"
log_outputs = "3:file:%[1]s/log"
`
	qemuConf = `user = "root"
group = "root"
dynamic_ownership = 0
security_driver = "none"
namespaces = []
cgroup_controllers = []
clear_emulator_capabilities = 0
stdio_handler = "file"
`
)

// script is the first process of the PID namespace. It does what its input says, and ends with it. bash reaps domains that have ended, for
// which libvirtd waits. host-proc is the machine's /proc.
const script = `set -e
cd "$1"
ip link set lo up
mount -t overlay overlay -o "lowerdir=$1/etc:/etc" /etc
mount --bind etc/libvirt /etc/libvirt
for f in lib cache log; do mount --bind var-$f /var/$f; done
mount --rbind /proc host-proc
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount --bind run /run
while read -r line; do eval "$line"; done
`

const (
	startLine = "libvirtd -f etc/libvirt/libvirtd.conf -p run/pid </dev/null >>output 2>&1 & daemon=$!"
	killLine  = "{ kill -9 $daemon; wait $daemon; } 2>/dev/null || true; rm -f libvirt-sock"
)

// Daemon is a libvirtd.
type Daemon struct {
	t      testing.TB
	dir    string
	inside *exec.Cmd
	say    io.WriteCloser
}

// Missing says what a libvirtd lacks here; "" if nothing.
func Missing() string {
	if os.Geteuid() != 0 {
		return "libvirtd needs root"
	}
	if _, err := exec.LookPath("libvirtd"); err != nil {
		return "no libvirtd: install the package libvirt-daemon"
	}
	return ""
}

// Start starts one in the network namespace of that path. Stop ends it, and so does the test's end.
func Start(t testing.TB, netns string) *Daemon {
	t.Helper()
	d := &Daemon{t: t}
	var err error
	d.dir, err = os.MkdirTemp("", "libvirtd") // t.TempDir's names are too long for a socket
	d.must(err)
	t.Cleanup(func() { os.RemoveAll(d.dir) })
	for _, folder := range []string{"etc", "etc/libvirt", "run", "var-lib", "var-cache", "var-log", "host-proc"} {
		d.must(os.Mkdir(filepath.Join(d.dir, folder), 0o755))
	}
	d.write("etc/libvirt/libvirtd.conf", fmt.Sprintf(conf, d.dir))
	d.write("etc/libvirt/qemu.conf", qemuConf)
	// libvirtd does not start without the user and the group that Debian's libvirt-daemon-system makes.
	for file, line := range map[string]string{"passwd": "libvirt-qemu:x:64055:64055::/:/usr/sbin/nologin\n", "group": "libvirt-qemu:x:64055:\n"} {
		text, err := os.ReadFile("/etc/" + file)
		d.must(err)
		if !strings.Contains(string(text), "\nlibvirt-qemu:") {
			text = append(text, line...)
		}
		d.write("etc/"+file, string(text))
	}
	d.inside = exec.Command("nsenter", "--net="+netns, "unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", script, "bash", d.dir)
	d.inside.Stdout, d.inside.Stderr = os.Stderr, os.Stderr
	d.say, err = d.inside.StdinPipe()
	d.must(err)
	d.must(d.inside.Start())
	t.Cleanup(d.Stop)
	d.Restart()
	return d
}

func (d *Daemon) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *Daemon) write(file, text string) {
	d.t.Helper()
	d.must(os.WriteFile(filepath.Join(d.dir, file), []byte(text), 0o644))
}

// Stop ends the daemon and its domains.
func (d *Daemon) Stop() {
	if d.inside.ProcessState != nil {
		return
	}
	d.say.Close()
	d.inside.Wait()
	if d.t.Failed() {
		for _, file := range []string{"log", "output"} {
			text, _ := os.ReadFile(filepath.Join(d.dir, file))
			d.t.Logf("libvirtd's %s:\n%s", file, text)
		}
	}
}

// Socket is the path of the daemon's socket.
func (d *Daemon) Socket() string { return filepath.Join(d.dir, "libvirt-sock") }

// HostProc is the path at which the daemon and its domains see the machine's /proc.
func (d *Daemon) HostProc() string { return filepath.Join(d.dir, "host-proc") }

// Kill kills the daemon. Its domains live on.
func (d *Daemon) Kill() {
	d.t.Helper()
	_, err := fmt.Fprintln(d.say, killLine)
	d.must(err)
	_, err = poll.Until(startTime, 5*time.Millisecond, func() error {
		if _, err := os.Stat(d.Socket()); err == nil {
			return fmt.Errorf("libvirtd is there")
		}
		return nil
	})
	d.must(err)
}

// Restart starts the daemon again after Kill.
func (d *Daemon) Restart() {
	d.t.Helper()
	_, err := fmt.Fprintln(d.say, startLine)
	d.must(err)
	_, err = poll.Until(startTime, 5*time.Millisecond, func() error { return d.Do(func(*golibvirt.Libvirt) error { return nil }) })
	d.must(err)
}

// Do connects to the daemon, and calls do.
func (d *Daemon) Do(do func(*golibvirt.Libvirt) error) error {
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "unix", d.Socket())
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(startTime)); err != nil {
		return err
	}
	l := golibvirt.NewWithDialer(dialers.NewAlreadyConnected(conn))
	if err := l.Connect(); err != nil {
		return err
	}
	defer l.Disconnect()
	return do(l)
}

// Create starts a domain of that XML, which ends for good when it ends.
func (d *Daemon) Create(xml string, flags golibvirt.DomainCreateFlags) {
	d.t.Helper()
	d.must(d.Do(func(l *golibvirt.Libvirt) error {
		_, err := l.DomainCreateXML(xml, flags)
		return err
	}))
}

// Destroy ends a domain at once.
func (d *Daemon) Destroy(name string) {
	d.t.Helper()
	d.must(d.Do(func(l *golibvirt.Libvirt) error {
		domain, err := l.DomainLookupByName(name)
		if err != nil {
			return err
		}
		return l.DomainDestroy(domain)
	}))
}

// Define records a domain that does not run.
func (d *Daemon) Define(xml string) {
	d.t.Helper()
	d.must(d.Do(func(l *golibvirt.Libvirt) error {
		_, err := l.DomainDefineXML(xml)
		return err
	}))
}

// Undefine deletes the record of a domain.
func (d *Daemon) Undefine(name string) {
	d.t.Helper()
	d.must(d.Do(func(l *golibvirt.Libvirt) error {
		domain, err := l.DomainLookupByName(name)
		if err != nil {
			return err
		}
		return l.DomainUndefine(domain)
	}))
}
