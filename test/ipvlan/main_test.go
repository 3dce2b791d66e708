// Package ipvlan_test proves the ipvlan mode where the kernel has it: two nodes on
// a cloud's network, each with an agent, containers on several NICs, and services
// by rules as kube-proxy writes them. On a kernel without ipvlan it proves that the
// mode is refused.
package ipvlan_test

import (
	"context"
	"os"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

// TestInGuests runs what needs no services under the kernels of Debian.
func TestInGuests(t *testing.T) { guest(t, "^Test(Reach|Submodes|Refusals)$") }

// TestAgentInGuests runs what has agents as processes of their own.
func TestAgentInGuests(t *testing.T) {
	cell.Need(t)
	guest(t, "^Test(StaleRedirects|CommandLine)$", cell.Build(t, "heddled"), cell.Build(t, "heddle"))
}

var ctx = context.Background()
