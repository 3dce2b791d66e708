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
	"github.com/heddle-network/heddle/test/vm"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

// TestInGuests runs all under the kernels of Debian, in guests that have IPVS, too. One of
// them has in make test what looks at the kernel alone.
func TestInGuests(t *testing.T) {
	cell.Need(t)
	const all = "^Test(Reach|ServicesU32|ServicesProgram|ServicesOnPlainSwitch|ServicesOnUplink|Submodes|Refusals|Flows|StaleRedirects|CommandLine)$"
	g := vm.Guest{
		Modules: append(vm.DefaultModules(), "ip_vs", "ip_vs_rr", "xt_ipvs"),
		Tools:   vm.DefaultTools(),
		Own:     []string{cell.Build(t, "heddled"), cell.Build(t, "heddle")},
		Small:   map[string]string{"6.1": "^Test(Reach|ServicesU32)$", "6.12": all},
	}
	if path, err := exec.LookPath("ipvsadm"); err == nil {
		g.Tools = append(g.Tools, path)
	}
	g.RunEverywhere(t, all)
}

var ctx = context.Background()
