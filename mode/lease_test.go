package mode_test

import (
	"slices"
	"testing"
)

// TestLeaseOutside: a DHCP server that leases an address outside the host's own subnets gets no traffic of the host by that, also where
// the container asks the host for names.
func TestLeaseOutside(t *testing.T) {
	for _, name := range []string{"macvlan-dhcp", "ipvlan-dhcp"} {
		all := variants()
		v := all[slices.IndexFunc(all, func(v variant) bool { return v.name == name })]
		v.resolves = true
		if _, plan := v.plans(t); len(plan.Host.Routes) == 0 {
			t.Errorf("%s: there is no route beside the container on the host's own subnet", name)
		}
		lease := *v.endpoint.DHCP
		lease.Address = prefixes("1.1.1.1/8")[0]
		v.endpoint = v.endpoint.WithDHCP(lease)
		if _, plan := v.plans(t); len(plan.Host.Routes)+len(plan.Host.Neighbours)+len(plan.Host.Addresses) > 0 {
			t.Errorf("%s: the host has routes %v, neighbours %v", name, plan.Host.Routes, plan.Host.Neighbours)
		}
	}
}
