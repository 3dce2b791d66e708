package lab_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle/frames"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/nic/qmp"
)

// slots is how many slots host1 of the machines has.
const slots = 3

// machineSlots plugs NICs into a machine while it runs, and unplugs them.
func machineSlots(t *testing.T, l *lab.Lab) {
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, h := t.Context(), l.Hosts[0]
	m, err := qmp.Dial(ctx, h.QMP())
	do(err)
	defer m.Close()
	counts := func(want int) {
		t.Helper()
		if all, free, err := m.Slots(ctx); err != nil || all != slots || free != want {
			t.Errorf("slots: %d, %d free, %v; want %d, %d", all, free, err, slots, want)
		}
	}
	counts(slots)
	tap, err := frames.NewTAP("plugged")
	do(err)
	defer tap.Close()
	run(t, "ip", "addr", "add", "198.51.100.1/24", "dev", "plugged")
	run(t, "ip", "link", "set", "plugged", "up")
	const mac = "0a:00:00:00:00:7f"
	find := func() string {
		return in(t, l, "host1", "sh", "-c", "grep -l "+mac+" /sys/class/net/*/address | cut -d/ -f5")
	}
	for range 2 { // the id and the slot can be used again
		start := time.Now()
		do(m.Plug(ctx, qmp.NIC{ID: "one", MAC: mac, TAPs: []*os.File{tap}}))
		soon(t, "the NIC is there", func() bool { return find() != "" })
		counts(slots - 1)
		if ids, err := m.Plugged(ctx); err != nil || !slices.Equal(ids, []string{"one"}) {
			t.Errorf("plugged: %v, %v", ids, err)
		}
		t.Logf("plugged, and seen in the machine: %.2f s", time.Since(start).Seconds())
		name := find()
		in(t, l, "host1", "sh", "-c", "ip addr add 198.51.100.2/24 dev "+name+" && ip link set "+name+" up && ping -c1 -W20 198.51.100.1")
		start = time.Now()
		do(m.Unplug(ctx, "one"))
		t.Logf("unplugged: %.2f s", time.Since(start).Seconds())
		if name := find(); name != "" {
			t.Errorf("the machine has %s still", name)
		}
		counts(slots)
	}
}

// machineManagement: who sees the management sockets of machines with slots.
func machineManagement(t *testing.T, l *lab.Lab) {
	in(t, l, "host3", "test", "-S", "/run/qmp/host1")
	if got := in(t, l, "host3", "ls", "/run/qmp"); got != "host1" {
		t.Errorf("the sockets are %q", got)
	}
	// A program in a host of namespaces manages the machine.
	m, err := qmp.Dial(t.Context(), fmt.Sprintf("/proc/%d/root/run/qmp/host1", l.Hosts[2].Pid))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if all, _, err := m.Slots(t.Context()); err != nil || all != slots {
		t.Errorf("%d slots, %v", all, err)
	}
	if info, err := os.Stat(filepath.Join(l.Folder(), "qmp")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", info, err)
	}
	for _, machine := range []string{"host1", "host2"} { // neither with slots nor without
		in(t, l, machine, "test", "!", "-e", "/run/qmp")
		// What the machine shares, looked at from its emulator.
		h, _ := l.Host(machine)
		if files, err := filepath.Glob(fmt.Sprintf("/proc/%d/root/run/.machine/root/run/qmp/*", h.Pid)); err != nil || len(files) > 0 {
			t.Errorf("%s is served %v, %v", machine, files, err)
		}
	}
	if path := l.Hosts[1].QMP() + l.Hosts[2].QMP(); path != "" {
		t.Errorf("hosts without slots have sockets: %s", path)
	}
}

func run(t *testing.T, argv ...string) {
	t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
}
