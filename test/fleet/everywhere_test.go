package fleet_test

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// listsAll checks what a host lists of all hosts' endpoints: its own, with or without a name, and of the
// other host those with a name, with what is known of them.
func (h *host) listsAll(t *testing.T, own []string, other *host, named *pod) {
	t.Helper()
	all, err := h.EndpointsEverywhere(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var mine []string
	for _, e := range all {
		switch {
		case e.Host == h.Host.Name:
			mine = append(mine, e.ID.Container)
		case e.Host != other.Host.Name || e.Name != "web" || e.NetworkName != "app" || len(e.Addrs) != 2 || e.Addrs[0].Addr() != named.addrs()[0] || e.Addrs[0].Bits() != 16:
			t.Errorf("listed: %+v", e)
		}
	}
	if !slices.Equal(mine, own) || len(all) != len(own)+1 {
		t.Errorf("%v of %d are of this host, want %v and one of another", mine, len(all), own)
	}
	out, err := h.tryCLI(t, "endpoint", "list", "--all-hosts", "--filter", "name=api")
	if err != nil || !strings.Contains(out, "\n"+other.Host.Name+" ") || strings.Contains(out, "\n"+h.Host.Name+" ") || !strings.Contains(out, "only endpoints with a name") {
		t.Errorf("%v: %s", err, out)
	}
}
