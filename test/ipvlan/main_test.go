// Package ipvlan_test proves the ipvlan mode where the kernel has it: two nodes on
// a cloud's network, each with an agent, containers on several NICs, and services
// by rules as kube-proxy writes them. On a kernel without ipvlan it proves that the
// mode is refused.
package ipvlan_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

// TestInGuests runs all under the kernels of Debian. In make test, that is Linux 6.12 without a second cloud, a DHCP server that
// knows clients by MAC addresses, what flows and sub-modes show as well, and the command line, which are only in make soak.
func TestInGuests(t *testing.T) {
	g := guest(t)
	g.Small = map[string]string{"6.12": soak.Patterns(t, [soak.Turns]string{
		"^Test(Crowd|Submodes|DHCP)$",
		"^TestFlows$/^routed$|^TestServicesProgram$/^(nftables|ipvs|no_rule)$",
		"^Test(ServicesOnUplink|Refusals|StaleRedirects)$",
	})}
	g.RunEverywhere(t, "^Test(Crowd|Submodes|DHCP|Flows|ServicesProgram|ServicesOnUplink|Refusals|StaleRedirects|Reach|CommandLine|ServicesOnPlainSwitch)$")
}

// TestU32InGuests has services by redirects of u32, which the oldest kernel has, too.
func TestU32InGuests(t *testing.T) {
	soak.Turn(t, 1)
	g := guest(t)
	g.Small = map[string]string{"6.1": "^TestServicesU32$/^(iptables|no_rule)$"}
	g.RunEverywhere(t, "^TestServicesU32$")
}

// guest has IPVS, too.
func guest(t *testing.T) vm.Guest {
	cell.Need(t)
	g := vm.Guest{
		Modules: append(vm.DefaultModules(), "ip_vs", "ip_vs_rr", "xt_ipvs"),
		Tools:   vm.DefaultTools(),
		Own:     []string{cell.Build(t, "heddled"), cell.Build(t, "heddle")},
	}
	for _, name := range []string{"ipvsadm", "dnsmasq"} {
		if path, err := exec.LookPath(name); err == nil {
			g.Tools = append(g.Tools, path)
		}
	}
	return g
}

var ctx = context.Background()
