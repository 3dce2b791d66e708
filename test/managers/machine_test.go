package managers_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/lab/boot"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/docker"
)

const (
	// slots of the machine. The last one is for NICs that heddle knows nothing of.
	slots = 4
	// nicConfig is what the hypervisor's service reads. It may not have all slots.
	nicConfig = `listen: 192.0.2.1:7950
machines:
  vm: {qmp: %s/serve.qmp, networks: [lan], nics: 3}
`
	// hypervisor gives the host the machine's link, and the address at which clouds tell machines about themselves.
	hypervisor = `ip tuntap add vm0 mode tap
ip address add 192.0.2.1/24 dev vm0
ip link set vm0 up
ip address add 169.254.169.254/32 dev lo`
	kernelParameters = "console=ttyS0 quiet panic=-1 mitigations=off norandmaps no_timer_check systemd.show_status=no"
)

// machine is a Debian with all its NIC managers under an emulated processor, and the hypervisor that plugs NICs into it.
type machine struct {
	*shell
	hv  *docker.Host
	dir string // of its files
}

// raise boots the machine. It ends with the test.
func raise(t *testing.T) *machine {
	t.Helper()
	cell.Need(t)
	kernels := boot.Kernels()
	if reason := boot.MissingHere(); reason != "" || len(kernels) == 0 {
		t.Skip("no virtual machine: ", reason, boot.MissingKernel(boot.Versions()[0]))
	}
	kernel := kernels[0] // of Debian 12
	m := &machine{dir: t.TempDir()}
	l, err := lab.Raise(t.Context(), lab.Topology{Name: "managers", Dir: t.TempDir(), Hosts: []lab.Node{{Name: "hv"}},
		Agent: lab.Agent{Command: []string{cell.Build(t, "heddled")}}})
	cell.Must(t, err)
	t.Cleanup(func() { l.Down(context.Background()) })
	m.hv = &docker.Host{Host: l.Hosts[0], Client: client.New(l.Hosts[0].Socket)}
	m.hv.Run(t, "sh", "-ec", hypervisor)
	m.hv.Heddle(t, "network", "create", "lan", "--mode", "bridge", "--subnet", "10.70.0.0/24", "--subnet", "fd70::/64")
	m.write(t, "nics.yaml", fmt.Sprintf(nicConfig, m.dir))
	m.hv.Run(t, cell.Build(t, "heddle"), "nic", "grant", m.file("nics.yaml"), "vm", "--out", m.file("grant"))
	m.makeCloud(t)
	m.makeDisk(t, kernel)
	m.start(t, "busybox", "httpd", "-f", "-p", "80", "-h", m.file("cloud"))
	m.start(t, m.emulator(kernel)...)
	m.start(t, cell.Build(t, "heddle"), "nic", "serve", m.file("nics.yaml"))
	m.shell = dial(t, m.file("shell"))
	t.Logf("kernel %s", strings.TrimSpace(m.run(t, "uname -r")))
	return m
}

func (m *machine) file(name string) string { return filepath.Join(m.dir, name) }

func (m *machine) write(t *testing.T, name, text string) {
	t.Helper()
	cell.Must(t, os.MkdirAll(filepath.Dir(m.file(name)), 0o755))
	cell.Must(t, os.WriteFile(m.file(name), []byte(text), 0o644))
}

// makeDisk makes the machine's disk: Debian with its NIC managers, heddle as it is installed, and the grant.
func (m *machine) makeDisk(t *testing.T, kernel boot.Kernel) {
	t.Helper()
	const install = "../install/testdata/"
	tree, err := cell.TrySh(install + "tree.sh managers")
	if err != nil {
		t.Skipf("no Debian in the cache: run make vm-managers: %v\n%s", err, tree)
	}
	bin := filepath.Dir(cell.Build(t, "heddle"))
	cell.Build(t, "heddled")
	cell.Build(t, "heddle-cni")
	cell.Sh(t, `dir=%s
mkdir -p $dir/root
cp testdata/shell.sh $dir/root/machine.sh
cp -rP testdata/over $dir/over
HEDDLE_BIN=%s ../../packaging/install.sh $dir/over /usr
ln -s /usr/lib/systemd/system/heddled.service $dir/over/etc/systemd/system/multi-user.target.wants/
echo 'nicGrant: /etc/heddle/nic.grant' >>$dir/over/etc/heddle/heddled.yaml
install -m 0600 $dir/grant $dir/over/etc/heddle/nic.grant
unshare -m %simage.sh %s %s/lib/modules $dir`, m.dir, bin, install, tree, kernel.Dir)
}

// emulator is QEMU's command. QEMU talks to one program at a time on a socket; the second one is the test's.
func (m *machine) emulator(k boot.Kernel) []string {
	args := []string{boot.QEMU, "-M", "q35", "-m", "1536", "-smp", "1", "-accel", "tcg,thread=single,tb-size=256", "-cpu", boot.Processor,
		"-smbios", "type=1,product=OpenStack Nova", // by which cloud-init knows its cloud
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "file:" + m.file("console"),
		"-drive", "file=" + m.file("disk") + ",format=raw,if=virtio,cache=unsafe",
		"-kernel", k.Vmlinux, "-initrd", m.file("initramfs"), "-append", kernelParameters,
		"-device", "virtio-serial-pci", "-chardev", "socket,id=shell,server=on,wait=off,path=" + m.file("shell"), "-device", "virtserialport,chardev=shell,name=shell",
		"-netdev", "tap,id=vm0,ifname=vm0,script=no,downscript=no", "-device", "virtio-net-pci,netdev=vm0,mac=" + ownMAC + ",romfile="}
	for i := range slots {
		args = append(args, "-device", fmt.Sprintf("pcie-root-port,id=slot%d,chassis=%d,addr=0x1e.%d,multifunction=on,io-reserve=0", i+1, i+1, i))
	}
	for _, socket := range []string{"serve.qmp", "hand.qmp"} {
		args = append(args, "-qmp", "unix:"+m.file(socket)+",server=on,wait=off")
	}
	return args
}

// start starts a program in the hypervisor. It ends with the test.
func (m *machine) start(t *testing.T, argv ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd, err := m.hv.Command(ctx, argv...)
	cell.Must(t, err)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
	cell.Must(t, cmd.Start())
	done := make(chan struct{})
	go func() {
		cmd.Wait()
		close(done)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		if t.Failed() {
			t.Logf("%s:\n%s", argv[0], out.String())
		}
	})
}
