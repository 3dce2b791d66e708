// Package nic keeps the host's NIC managers away from a NIC while a container has it.
// Runtime files tell systemd-networkd, NetworkManager and udev to leave the NIC alone, and udev
// to tell no others, such as cloud-init; the files name it by its MAC address, since its name
// changes. Without them, a manager would configure, rename or take down the NIC when it comes
// back, before the agent has restored it.
package nic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// prefix is the beginning of the names of all our files.
const prefix = "00-heddle-"

// Managers are the NIC managers of a host; Root is the parent of their files ("/", or a
// test's folder).
type Managers struct{ Root string }

// manager is one of them: how it is recognised, which file it reads, and how
// it is told to read again.
type manager struct {
	// present are paths. One of them exists if the manager is installed.
	present []string
	// running exists if the manager has run since the host started.
	running string
	reload  []string
	files   []file
}

// file is a runtime file about one NIC. {MAC} stands for the address (in the file's name
// with dashes), {NAME} for the NIC's name, {RETURN} for the name that it gets if its
// own is taken, and {DEVICE} for the name of its device on the bus, which is empty if it
// has none or is not known.
type file struct{ name, text string }

// udevRules have no other rule's program run for the NIC: cloud-init's hook for NICs that are plugged in and taken out would write the
// machine's network configuration anew. udev remembers the properties of a NIC that has gone. The kernel announces one that comes from
// another namespace before its address can be read (__dev_change_net_namespace in net/core/dev.c); it is known by its device.
const udevRules = `# {NAME} is with a container; see heddle(1)
SUBSYSTEM!="net", GOTO="heddle_end"
ENV{HEDDLE_NIC}=="{MAC}", GOTO="heddle_nic"
ATTR{address}=="{MAC}", GOTO="heddle_nic"
ATTR{address}=="?*", GOTO="heddle_end"
DEVPATH!="*/{DEVICE}/net/*", GOTO="heddle_end"
LABEL="heddle_nic"
ENV{NM_UNMANAGED}="1", ENV{HEDDLE_NIC}="{MAC}", RUN:="/bin/true"
LABEL="heddle_end"
`

// udevRunning is the socket at which udev is asked.
const udevRunning = "run/udev/control"

var managers = []manager{
	{
		present: []string{"run/systemd/netif", "lib/systemd/systemd-networkd", "usr/lib/systemd/systemd-networkd"},
		running: "run/systemd/netif/state",
		reload:  []string{"networkctl", "reload"},
		files: []file{{"run/systemd/network/" + prefix + "{MAC}.network",
			"# {NAME} is with a container; see heddle(1)\n[Match]\nMACAddress={MAC}\n\n[Link]\nUnmanaged=yes\n"}},
	},
	{
		present: []string{"run/NetworkManager", "usr/sbin/NetworkManager"},
		running: "run/NetworkManager/devices",
		reload:  []string{"nmcli", "general", "reload", "conf"},
		files: []file{{"run/NetworkManager/conf.d/" + prefix + "{MAC}.conf",
			// mac: is the hardware's own address, which a virtual NIC does not have
			"# {NAME} is with a container; see heddle(1)\n[keyfile]\nunmanaged-devices+=mac:{MAC};interface-name:={NAME};interface-name:={RETURN}\n"}},
	},
	{
		present: []string{"run/udev", "lib/systemd/systemd-udevd", "usr/lib/systemd/systemd-udevd"},
		running: udevRunning,
		reload:  []string{"udevadm", "control", "--reload"},
		files: []file{
			// The NIC keeps the name that it has when it comes back.
			{"run/systemd/network/" + prefix + "{MAC}.link", "# {NAME} is with a container; see heddle(1)\n[Match]\nMACAddress={MAC}\n\n[Link]\nNamePolicy=keep\n"},
			{"run/udev/rules.d/" + prefix + "{MAC}.rules", udevRules},
		},
	},
}

// Keep tells the installed managers to leave the NIC alone. It need not be there, or have a name, yet.
func (m Managers) Keep(n heddle.NIC) error {
	return m.each(n.MAC, func(path, text string) (bool, error) {
		text = strings.NewReplacer("{MAC}", string(n.MAC), "{NAME}", cmp.Or(n.Name, n.ReturnName()), "{RETURN}", n.ReturnName(),
			"{DEVICE}", n.Was.Device).Replace(text)
		if old, err := os.ReadFile(path); err == nil && string(old) == text {
			return false, nil
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return false, err
		}
		return true, os.WriteFile(path, []byte(text), 0o644)
	})
}

// Free gives the NIC back to the managers, once udev is done with it.
func (m Managers) Free(mac heddle.MAC) error {
	m.Settle()
	freed := false
	err := m.each(mac, func(path, _ string) (bool, error) {
		err := os.Remove(path)
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		freed = true
		return err == nil, err
	})
	if freed && m.any([]string{udevRunning}) { // until the next event udev remembers that the NIC is not NetworkManager's
		m.run([]string{"udevadm", "trigger", "--action=change", "--subsystem-match=net", "--attr-match=address=" + string(mac)})
	}
	return err
}

// each visits the files of the installed managers, and asks managers whose files changed
// to read them again. A manager that does not answer is no problem: it reads the files
// when it next sees the NIC.
func (m Managers) each(mac heddle.MAC, visit func(path, text string) (changed bool, err error)) error {
	var errs []error
	for _, x := range managers {
		if !m.any(x.present) {
			continue
		}
		reload := false
		for _, f := range x.files {
			changed, err := visit(m.path(strings.Replace(f.name, "{MAC}", dashed(mac), 1)), f.text)
			if err != nil {
				errs = append(errs, heddle.Wrap(heddle.NICUnfit, "keep NIC managers off", string(mac), err, "make the manager's folder under /run writable"))
			}
			reload = reload || changed
		}
		if reload && m.any([]string{x.running}) {
			m.run(x.reload)
		}
	}
	return errors.Join(errs...)
}

// settleTime limits how long udev is waited for, in seconds.
const settleTime = 4

// Settle waits until udev has seen what NICs came and went. A NIC that has come and gone before udev looks is known by no address, and
// so udev would treat it as any other. If udev does not run, or has too much to do, Settle goes on without.
func (m Managers) Settle() {
	if m.any([]string{udevRunning}) {
		m.run([]string{"udevadm", "settle", fmt.Sprintf("--timeout=%d", settleTime)})
	}
}

// run asks a manager to reload, or to be waited for.
func (m Managers) run(command []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = time.Second
	cmd.Run()
}

// Kept lists the MAC addresses for which there are files.
func (m Managers) Kept() []heddle.MAC {
	seen := map[heddle.MAC]bool{}
	var all []heddle.MAC
	for _, x := range managers {
		for _, f := range x.files {
			found, _ := filepath.Glob(m.path(strings.Replace(f.name, "{MAC}", "*", 1)))
			for _, path := range found {
				name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), prefix), filepath.Ext(path))
				mac, err := heddle.ParseMAC(name)
				if err == nil && !seen[mac] {
					seen[mac] = true
					all = append(all, mac)
				}
			}
		}
	}
	return all
}

func (m Managers) path(name string) string { return filepath.Join(m.Root, name) }

func (m Managers) any(names []string) bool {
	for _, name := range names {
		if _, err := os.Stat(m.path(name)); err == nil {
			return true
		}
	}
	return false
}

func dashed(mac heddle.MAC) string { return strings.ReplaceAll(string(mac), ":", "-") }
