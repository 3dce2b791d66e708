package nic

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

var demo = heddle.NIC{Name: "eth1", MAC: "02:00:00:00:01:0a", Was: heddle.NICState{Device: "virtio3"}}

// files reads a folder.
func files(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	cell.Must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b, _ := os.ReadFile(path)
			all[strings.TrimPrefix(path, root+"/")] = string(b)
		}
		return err
	}))
	return all
}

// host is a root folder with the managers that the folders indicate.
func host(t *testing.T, folders ...string) Managers {
	t.Helper()
	m := Managers{Root: t.TempDir()}
	for _, f := range folders {
		cell.Must(t, os.MkdirAll(m.path(f), 0o755))
	}
	return m
}

// TestKeepAndFree writes for the managers that are there, once, and leaves
// nothing.
func TestKeepAndFree(t *testing.T) {
	const note = "# eth1 is with a container; see heddle(1)\n"
	networkd := map[string]string{"run/systemd/network/00-heddle-02-00-00-00-01-0a.network": note + "[Match]\nMACAddress=02:00:00:00:01:0a\n\n[Link]\nUnmanaged=yes\n"}
	manager := map[string]string{"run/NetworkManager/conf.d/00-heddle-02-00-00-00-01-0a.conf": note + "[keyfile]\nunmanaged-devices+=mac:02:00:00:00:01:0a;interface-name:=eth1;interface-name:=hn02000000010a\n"}
	udev := map[string]string{
		"run/systemd/network/00-heddle-02-00-00-00-01-0a.link": note + "[Match]\nMACAddress=02:00:00:00:01:0a\n\n[Link]\nNamePolicy=keep\n",
		"run/udev/rules.d/00-heddle-02-00-00-00-01-0a.rules": note + `SUBSYSTEM!="net", GOTO="heddle_end"
ENV{HEDDLE_NIC}=="02:00:00:00:01:0a", GOTO="heddle_nic"
ATTR{address}=="02:00:00:00:01:0a", GOTO="heddle_nic"
ATTR{address}=="?*", GOTO="heddle_end"
DEVPATH!="*/virtio3/net/*", GOTO="heddle_end"
LABEL="heddle_nic"
ENV{NM_UNMANAGED}="1", ENV{HEDDLE_NIC}="02:00:00:00:01:0a", RUN:="/bin/true"
LABEL="heddle_end"
`,
	}
	for folder, want := range map[string]map[string]string{"run/systemd/netif": networkd, "run/NetworkManager": manager, "run/udev": udev, "run": {}} {
		m := host(t, folder)
		for range 2 {
			cell.Must(t, m.Keep(demo))
			have := files(t, m.Root)
			if len(have) != len(want) {
				t.Errorf("%s: %v", folder, have)
			}
			for name, text := range want {
				if have[name] != text {
					t.Errorf("%s: %s holds %q, want %q", folder, name, have[name], text)
				}
			}
		}
		if kept := m.Kept(); (len(kept) == 1) != (len(want) > 0) || len(kept) > 0 && kept[0] != demo.MAC {
			t.Errorf("%s: kept %v", folder, kept)
		}
		for range 2 {
			cell.Must(t, m.Free(demo.MAC))
			if left := files(t, m.Root); len(left) > 0 {
				t.Errorf("%s: left %v", folder, left)
			}
		}
	}
}

// TestSeveral keeps NICs apart.
func TestSeveral(t *testing.T) {
	m := host(t, "run/udev", "run/NetworkManager", "run/systemd/netif")
	other := heddle.NIC{Name: "eth2", MAC: "02:00:00:00:01:0b"}
	cell.Must(t, m.Keep(demo))
	cell.Must(t, m.Keep(other))
	cell.Must(t, m.Free(demo.MAC))
	if kept := m.Kept(); !slices.Equal(kept, []heddle.MAC{other.MAC}) {
		t.Errorf("kept %v", kept)
	}
	if all := files(t, m.Root); len(all) != 4 {
		t.Errorf("files %v", all)
	}
}

// TestReload asks a manager that runs, and no other, to read its files again.
func TestReload(t *testing.T) {
	m := host(t, "run/udev", "run/NetworkManager", "run/systemd/netif", "bin")
	cell.Must(t, os.Mkdir(m.path("run/NetworkManager/devices"), 0o755))
	asked := m.path("asked")
	for _, tool := range []string{"nmcli", "networkctl", "udevadm"} {
		cell.Must(t, os.WriteFile(m.path("bin/"+tool), []byte("#!/bin/sh\necho "+tool+" $* >> "+asked+"\n"), 0o755))
	}
	t.Setenv("PATH", m.path("bin")+":"+os.Getenv("PATH"))
	cell.Must(t, m.Keep(demo))
	cell.Must(t, m.Keep(demo)) // nothing changes
	cell.Must(t, m.Free(demo.MAC))
	const reload = "nmcli general reload conf\n"
	if b, _ := os.ReadFile(asked); string(b) != reload+reload {
		t.Errorf("asked %q", b)
	}
}

// TestSettle waits for udev, where it runs, before the NIC is given back: what udev is told counts until it has seen the NIC go.
func TestSettle(t *testing.T) {
	m := host(t, "run/udev", "bin")
	asked := m.path("asked")
	rules := m.path("run/udev/rules.d/00-heddle-02-00-00-00-01-0a.rules")
	cell.Must(t, os.WriteFile(m.path("bin/udevadm"), []byte("#!/bin/sh\necho $* $(ls "+rules+" 2>/dev/null | wc -l) >> "+asked+"\n"), 0o755))
	t.Setenv("PATH", m.path("bin")+":"+os.Getenv("PATH"))
	m.Settle()
	if _, err := os.Stat(asked); err == nil {
		t.Error("udev is waited for where it does not run")
	}
	cell.Must(t, os.WriteFile(m.path("run/udev/control"), nil, 0o600))
	cell.Must(t, m.Keep(demo))
	cell.Must(t, m.Free(demo.MAC))
	const want = "control --reload 1\nsettle --timeout=4 1\ncontrol --reload 0\ntrigger --action=change --subsystem-match=net --attr-match=address=02:00:00:00:01:0a 0\n"
	if b, _ := os.ReadFile(asked); string(b) != want {
		t.Errorf("asked %q, want %q", b, want)
	}
}

// TestNoDevice: a NIC without a device on a bus, or one that is not known yet, is known by its address alone.
func TestNoDevice(t *testing.T) {
	m := host(t, "run/udev")
	cell.Must(t, m.Keep(heddle.NIC{MAC: demo.MAC}))
	rules := files(t, m.Root)["run/udev/rules.d/00-heddle-02-00-00-00-01-0a.rules"]
	if !strings.Contains(rules, `DEVPATH!="*//net/*"`) { // no path has that
		t.Errorf("the rules are %s", rules)
	}
}
