package mode_test

import (
	"slices"
	"testing"

	"github.com/heddle-network/heddle"
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

// TestAdvertisedOutside: so it is with a router that names a prefix, also for an endpoint that has another address in the host's own subnet.
func TestAdvertisedOutside(t *testing.T) {
	all := variants()
	v := all[slices.IndexFunc(all, func(v variant) bool { return v.name == "macvlan-ipv6" })]
	_, plan := v.plans(t)
	if n := len(plan.Host.Routes); n != 3 {
		t.Errorf("routes to the container: %v", plan.Host.Routes)
	}
	lease := *v.endpoint.DHCP
	six := *lease.IPv6
	lease.IPv6 = &six
	foreign := prefixes("2606:4700::1/64")[0]
	six.Addresses = append(slices.Clone(six.Addresses[:1]), heddle.LANAddress{Address: foreign, Source: heddle.SourceSLAAC})
	v.endpoint = v.endpoint.WithDHCP(lease)
	_, plan = v.plans(t)
	if n := len(plan.Host.Routes); n != 2 {
		t.Errorf("routes to the container: %v", plan.Host.Routes)
	}
	for _, r := range plan.Host.Routes {
		if r.Dst.Contains(foreign.Addr()) {
			t.Errorf("the host has %v", r)
		}
	}
	if !slices.ContainsFunc(plan.Pod.Addresses, func(a heddle.Address) bool { return a.Prefix == foreign }) {
		t.Error("the container does not have the address")
	}
}
