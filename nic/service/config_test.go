package service

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

const goodConfig = `listen: 192.0.2.1:7950
machines:
  web1:
    qmp: /run/machines/web1.qmp
    networks: [lan, dmz]
    nics: 8
  web2:
    qmp: /run/machines/web2.qmp
    networks:
    - lan
  web3:
    libvirt: web three
    networks: [lan]
`

func TestConfig(t *testing.T) {
	c, err := ParseConfig([]byte(goodConfig))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintln(c.Listen, c.Machines["web1"].NICs(), c.Machines["web2"].NICs(), c.Machines["web1"].Networks, c.Machines["web2"].QMP); got != "192.0.2.1:7950 8 16 [lan dmz] /run/machines/web2.qmp\n" {
		t.Error(got)
	}
	if c.LibvirtSocket() != "/var/run/libvirt/libvirt-sock" || c.Machines["web3"].Libvirt != "web three" {
		t.Error(c.LibvirtSocket(), c.Machines["web3"])
	}
	if c, err := ParseConfig([]byte("libvirt: /run/other\n" + goodConfig)); err != nil || c.LibvirtSocket() != "/run/other" {
		t.Error(c.LibvirtSocket(), err)
	}
	if _, err := ParseConfig([]byte(strings.Replace(goodConfig, "192.0.2.1:7950", `"[2001:db8::1]:7950"`, 1))); err != nil {
		t.Error(err)
	}
}

// TestConfigRefused: what is wrong is told with its line, its key, and what to do.
func TestConfigRefused(t *testing.T) {
	for _, c := range []struct{ old, changed, want string }{
		{"listen: 192.0.2.1:7950\n", "", "line 1, listen: it is missing; give an address"},
		{"192.0.2.1:7950", "192.0.2.1", `line 1, listen: "192.0.2.1" is not a unicast IP address with a port`},
		{"192.0.2.1:7950", "192.0.2.1:0", "line 1, listen: "},
		{"192.0.2.1:7950", "0.0.0.0:7950", "line 1, listen: "},
		{"192.0.2.1:7950", `"[ff02::1]:7950"`, "line 1, listen: "},
		{"192.0.2.1:7950", `"[fe80::1%eth0]:7950"`, "line 1, listen: "},
		{"192.0.2.1:7950", "host:7950", "line 1, listen: "},
		{"listen:", "listens:", "line 1: unknown key listens"},
		{"nics: 8", "nic: 8", "line 6: unknown key nic"},
		{"nics: 8", "nics: 0", "line 6, machines.web1.nics: 0 is no number of NICs; give 1 to 128"},
		{"nics: 8", "nics: 129", "line 6, machines.web1.nics: 129 is no number"},
		{"nics: 8", "nics: many", `line 6: "many" is of the wrong kind; give a whole number`},
		{"nics: 8", "queues: 0", "line 6, machines.web1.queues: 0 is no number of pairs of queues; give 1 to 64"},
		{"nics: 8", "rate: fast", `line 6, machines.web1.rate: "fast": it is not a number above 0 with a unit; give a number and a unit`},
		{"nics: 8", "rate: 100", `line 6, machines.web1.rate: "100": it is not a number above 0`},
		{"nics: 8", "rateIn: 1kbit", "line 6, machines.web1.rateIn: 1kbit is not from 64kbit to 1tbit; give a rate"},
		{"nics: 8", "rateOut: 2tbit", "line 6, machines.web1.rateOut: 2tbit is not from"},
		{"nics: 8", "queues: 65", "line 6, machines.web1.queues: 65 is no number"},
		{"web2:", "web1:", `line 7: mapping key "web1" already defined at line 3`},
		{"web2:", "web/2:", "line 7, machines.web/2: the name is malformed; give a name"},
		{"web2:", "../web:", "the name is malformed"},
		{"web2.qmp", "web1.qmp", "line 8, machines.web2.qmp: machine web1 has the same socket"},
		{"/run/machines/web2.qmp", "web2.qmp", `line 8, machines.web2.qmp: "web2.qmp" is no path of a socket`},
		{"/run/machines/web2.qmp", "/run/../web2.qmp", "line 8, machines.web2.qmp: "},
		{"/run/machines/web2.qmp", "/" + strings.Repeat("a", maxSocket), "line 8, machines.web2.qmp: "},
		{"    qmp: /run/machines/web2.qmp\n", "", "line 7, machines.web2: it has neither qmp nor libvirt; give the path"},
		{"    libvirt: web three\n", "    libvirt: web three\n    qmp: /run/x\n", "line 12, machines.web3.libvirt: the machine has qmp, too"},
		{"web three", `""`, "line 11, machines.web3: it has neither"},
		{"web three", "a/b", `line 12, machines.web3.libvirt: "a/b" is no name of a domain; give the name`},
		{"web three", `"a\nb"`, `line 12, machines.web3.libvirt: "a\nb" is no name`},
		{"web three", `" "`, `line 12, machines.web3.libvirt: " " is no name`},
		{"web three", strings.Repeat("a", maxDomain+1), "line 12, machines.web3.libvirt: "},
		{"qmp: /run/machines/web2.qmp", "libvirt: web three", "line 12, machines.web3.libvirt: machine web2 has the same domain"},
		{"listen:", "libvirt: qemu:///system\nlisten:", `line 1, libvirt: "qemu:///system" is no path of a socket`},
		{"[lan, dmz]", "[]", "line 5, machines.web1.networks: it has 0 networks; give 1 to 256"},
		{"[lan, dmz]", "[lan, a/b]", `line 5, machines.web1.networks.2: the file has no VPC a; add it to vpcs`},
		{"[lan, dmz]", "[lan, a/b/c]", `line 5, machines.web1.networks.2: "a/b/c" is no name of a network`},
		{"[lan, dmz]", "[lan, /b]", `line 5, machines.web1.networks.2: "/b" is no name of a network`},
		{"    networks: [lan]\n", "    networks: [red/lan]\nvpcs: {red: {}}\n", "machines.web3.networks.1: red/lan is a network of a VPC, and libvirtd would open"},
		{"machines:", "vpcs: {-x: {}}\nmachines:", "line 2, vpcs.-x: the name is malformed"},
		{"machines:", "vpcs: {red: {agent: run/sock}}\nmachines:", `line 2, vpcs.red.agent: "run/sock" is no path of a socket`},
		{"machines:", "vpcs: {red: {netns: /run/../x}}\nmachines:", `line 2, vpcs.red.netns: "/run/../x" is no path of a network namespace`},
		{"[lan, dmz]", "[lan, lan]", "line 5, machines.web1.networks.2: lan is given twice"},
		{"    - lan", "    - -x", `line 10, machines.web2.networks.1: "-x" is no name of a network`},
		{goodConfig, "listen: 192.0.2.1:7950\nmachines:\n", "line 2, machines: it has 0 machines; give 1 to 1024"},
		{goodConfig, "listen: 192.0.2.1:7950\nmachines:\n  a:\n", "line 3, machines.a: it has neither"},
		{goodConfig, "", "it is empty"},
	} {
		text := strings.Replace(goodConfig, c.old, c.changed, 1)
		if _, err := ParseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: %v, not %q", c.changed, c.old, err, c.want)
		}
	}
}

func TestReadConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nics.yaml")
	if _, err := ReadConfig(file); !errors.Is(err, heddle.BadArgument.Sentinel()) {
		t.Error(err)
	}
	for text, want := range map[string]string{
		goodConfig:                   "",
		"listen: x\n":                `line 1, listen: "x" is not`,
		strings.Repeat("#", 1<<20+1): "it is larger than 1048576 bytes",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadConfig(file)
		if (err == nil) != (want == "") || err != nil && (!errors.Is(err, heddle.BadArgument.Sentinel()) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file)) {
			t.Errorf("%v, not %q", err, want)
		}
	}
}
