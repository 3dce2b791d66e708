package machines_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/lab/boot"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/libvirtd"
	"github.com/heddle-network/heddle/test/poll"
)

// instead is what a lab starts for the emulator: on the machine it says with which arguments, and leaves the rest to the test; elsewhere
// it is the emulator.
const instead = `#!/bin/sh
[ "$(cat /proc/sys/kernel/hostname)" = %s ] || exec %s "$@"
cd %[3]s
printf '%%s\n' "$@" >%[4]s.part
mv %[4]s.part %[4]s
until [ -e %[4]s.failed ]; do sleep 1; done
`

// inNamespace is the emulator of a domain: QEMU with the TAPs of the lab's machine. libvirt also asks it without any rights what it can.
const inNamespace = `#!/bin/sh
case "$*" in *"-machine none"*) exec %s "$@" ;; esac
exec nsenter --net=%s/ns/net %[1]s "$@"
`

// machineFolder is where the emulator of a lab's machine finds its files.
const machineFolder, argumentsFile = "/run/.machine", "emulator.args"

// raiseDomain makes a lab as raise does. A machine of it is a domain of libvirt's, in the network namespace of host hv, if there is a
// libvirt; without one, libvirtd is nil, and the machine is as any other.
func raiseDomain(t *testing.T, topology lab.Topology, hv, machine string) (*lab.Lab, *libvirtd.Daemon) {
	t.Helper()
	if why := libvirtd.Missing(); why != "" {
		if os.Getenv("HEDDLE_REQUIRE_VM") == "1" {
			t.Fatal(why)
		}
		t.Logf("%s is no domain of libvirt's: %s", machine, why)
		return raise(t, topology), nil
	}
	await := asDomain(t, topology.Dir, topology.Name, hv, machine)
	return raise(t, topology), await()
}

// asDomain has a machine of the lab that is raised next run as a domain of libvirt's, with the machine's name. Its libvirtd is in the
// network namespace of host hv. What it returns waits for both.
func asDomain(t *testing.T, dir, labName, hv, machine string) (await func() *libvirtd.Daemon) {
	t.Helper()
	qemu, err := exec.LookPath(boot.QEMU)
	cell.Must(t, err)
	cell.Build(t, "heddled") // the lab runs it: its time does not count below
	programs := t.TempDir()
	cell.Must(t, os.WriteFile(filepath.Join(programs, boot.QEMU), fmt.Appendf(nil, instead, machine, qemu, machineFolder+"/folder", argumentsFile), 0o755))
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	started := make(chan *libvirtd.Daemon, 1)
	t.Cleanup(func() { // what reports to the test ends before it
		for range started {
		}
	})
	go func() {
		defer close(started)
		said, done := filepath.Join(dir, labName, machine, argumentsFile), false
		defer func() { // also after t.FailNow
			if !done {
				os.WriteFile(said+".failed", nil, 0o600) // so that the lab does not wait
			}
		}()
		args, l, err := emulated(said, dir, labName)
		if err != nil {
			t.Error(err)
			return
		}
		host, errHV := l.Host(hv)
		is, errVM := l.Host(machine)
		if err := errors.Join(errHV, errVM); err != nil {
			t.Error(err)
			return
		}
		d := libvirtd.Start(t, host.Netns)
		process, emulator := filepath.Join(d.HostProc(), strconv.Itoa(is.Pid)), filepath.Join(programs, "emulator")
		cell.Must(t, os.WriteFile(emulator, fmt.Appendf(nil, inNamespace, qemu, process), 0o755))
		d.Create(domainXML(is, args, process, emulator), 0)
		done = true
		started <- d
	}()
	return func() *libvirtd.Daemon {
		d, ok := <-started
		if !ok {
			t.FailNow()
		}
		t.Cleanup(d.Stop) // before the lab ends
		return d
	}
}

// emulated waits until the lab has started an emulator. It returns the arguments, which are in the file said, and the lab.
func emulated(said, dir, labName string) (args []string, l *lab.Lab, err error) {
	_, err = poll.Until(3*time.Minute, 20*time.Millisecond, func() error {
		text, err := os.ReadFile(said)
		if err == nil {
			args = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			l, err = lab.Load(dir, labName)
		}
		return err
	})
	return args, l, err
}

// domainXML is a domain as a lab's emulator would be with such arguments. What libvirt has no words for is passed on. process is the
// folder in /proc of the machine's init, which sees the emulator's files.
func domainXML(h *lab.Host, args []string, process, emulator string) string {
	values, slots, devices, more := map[string]string{}, 0, 0x10, ""
	for i := 0; i < len(args); i++ {
		flag := args[i]
		if flag == "-nodefaults" || flag == "-no-user-config" || flag == "-no-reboot" { // libvirt's own
			continue
		}
		i++
		value := strings.ReplaceAll(args[i], machineFolder, process+"/root"+machineFolder)
		switch {
		case strings.HasPrefix(value, "pcie-root-port,"):
			slots++
			continue
		case flag == "-device": // where libvirt puts none
			value += fmt.Sprintf(",bus=pcie.0,addr=%#x", devices)
			devices++
		}
		switch {
		case flag == "-serial" || flag == "-cpu" || flag == "-chardev" || flag == "-device" || flag == "-netdev":
			more += fmt.Sprintf("<qemu:arg value='%s'/><qemu:arg value='%s'/>", flag, escape(value))
		default:
			values[flag] = escape(value)
		}
	}
	kind := map[bool]string{true: "qemu", false: "kvm"}[h.Emulated()]
	var b strings.Builder
	fmt.Fprintf(&b, "<domain type='%s' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'><name>%s</name>", kind, h.Name)
	fmt.Fprintf(&b, "<memory unit='MiB'>%s</memory><memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>", strings.TrimSuffix(values["-m"], "M"))
	fmt.Fprintf(&b, "<os><type arch='x86_64' machine='q35'>hvm</type><kernel>%s</kernel><initrd>%s</initrd><cmdline>%s</cmdline></os>", values["-kernel"], values["-initrd"], values["-append"])
	b.WriteString("<features><acpi/>")
	if h.Emulated() {
		b.WriteString("<tcg><tb-cache unit='MiB'>192</tb-cache></tcg>")
	}
	fmt.Fprintf(&b, "</features><on_reboot>destroy</on_reboot><devices><emulator>%s</emulator><controller type='pci' index='0' model='pcie-root'/>", emulator)
	for i := range slots {
		fmt.Fprintf(&b, "<controller type='pci' index='%d' model='pcie-root-port'/>", i+1)
	}
	fmt.Fprintf(&b, "<controller type='usb' model='none'/><memballoon model='none'/></devices><qemu:commandline>%s</qemu:commandline></domain>", more)
	return b.String()
}

func escape(text string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(text)) // never fails
	return b.String()
}
