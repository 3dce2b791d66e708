package ipvlan_test

import (
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle/test/world"
)

// served: every container and every node reaches all services, by both protocols and
// families; a container its own too.
func (s *scene) served(t *testing.T) {
	t.Helper()
	for _, backend := range backends {
		if t.Failed() {
			return // each further failure would wait for an answer in vain
		}
		for _, from := range []string{"a1", "a2", "b1", "c1"} {
			s.pods[from].Gets(t, backend, 80, service(backend)...)
		}
		for _, n := range s.nodes {
			n.Gets(t, backend, 80, service(backend)...)
		}
		for _, to := range service(backend) {
			if err := echoes(s.pods["a1"].Netns, netip.AddrPortFrom(to, 80)); err != nil {
				t.Error(err)
			}
		}
	}
}

// services tries one way of redirecting with all kinds of rules.
func services(t *testing.T, cloud func(testing.TB, map[string]*nic) world.Netns, redirect string, rules ...string) {
	s := newScene(t, cloud)
	s.populate(t, map[string]string{"services": servicePrefixes, "redirect": redirect})
	for _, proxy := range rules {
		t.Run(proxy, func(t *testing.T) {
			for _, n := range s.nodes {
				proxies[proxy](t, s, n)
			}
			s.served(t)
			for _, n := range s.nodes {
				n.auditEmpty(t)
				n.byNobody(t)
			}
		})
	}
	t.Run("no rule", func(t *testing.T) {
		s.pods["a1"].GetsNothing(t, 80, service("a2")...)
	})
}

// TestServicesU32 and TestServicesProgram reach services by both ways of the
// redirect, with offloads on and strict reverse path filters.
func TestServicesU32(t *testing.T) { services(t, routedCloud, "u32", "iptables", "nftables", "ipvs") }

func TestServicesProgram(t *testing.T) {
	services(t, routedCloud, "ebpf", "iptables", "nftables", "ipvs")
}

// TestServicesOnPlainSwitch: the same where the network is a plain switch.
func TestServicesOnPlainSwitch(t *testing.T) { services(t, bridgedCloud, "auto", "iptables") }

// TestServicesOnUplink: the containers are on the NIC that has the node's own address
// and default route.
func TestServicesOnUplink(t *testing.T) {
	s := newScene(t, routedCloud)
	options := map[string]string{"services": servicePrefixes}
	s.network(t, "primary1", options)
	s.network(t, "c", options)
	for i, name := range []string{"a1", "a2", "b1"} {
		s.pod(t, name, "primary1", 1+i)
	}
	s.pod(t, "c1", "c", 1)
	for _, n := range s.nodes {
		byNftables(t, s, n)
	}
	s.served(t)
	s.reach(t)
	for _, n := range s.nodes {
		n.byNobody(t)
	}
	s.pods["a1"].GetsNothing(t, 80, service("c1")...)
}
