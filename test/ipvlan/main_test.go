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

// TestInGuests runs all under the kernels of Debian, in guests that have IPVS, too. In make test,
// Linux 6.1 has what looks at the kernel alone, with redirects by u32; 6.12 has all else, but a second
// cloud, a DHCP server that knows clients by MAC addresses, what flows and sub-modes show as well, and the command line,
// which are only in make soak.
func TestInGuests(t *testing.T) {
	cell.Need(t)
	const most = "ServicesOnUplink|Submodes|Refusals|StaleRedirects|DHCP"
	g := vm.Guest{
		Modules: append(vm.DefaultModules(), "ip_vs", "ip_vs_rr", "xt_ipvs"),
		Tools:   vm.DefaultTools(),
		Own:     []string{cell.Build(t, "heddled"), cell.Build(t, "heddle")},
		Small:   map[string]string{"6.1": "^TestServicesU32$/^(iptables|no_rule)$", "6.12": "^Test(Crowd|" + most + ")$|^TestFlows$/^routed$|^TestServicesProgram$/^(nftables|ipvs|no_rule)$"},
	}
	for _, name := range []string{"ipvsadm", "dnsmasq"} {
		if path, err := exec.LookPath(name); err == nil {
			g.Tools = append(g.Tools, path)
		}
	}
	g.RunEverywhere(t, "^Test("+most+"|Crowd|Reach|Flows|CommandLine|Services(Program|OnPlainSwitch|U32))$")
}

var ctx = context.Background()
