package cni

import (
	"encoding/json"
	"net"
	"net/netip"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/types/create"

	"github.com/heddle-network/heddle"
)

// previousResult decodes the result of the plugin before this one; without one it is
// empty.
func previousResult(conf Conf) (*current.Result, error) {
	if s := string(conf.PrevResult); s == "" || s == "null" {
		return &current.Result{CNIVersion: newestVersion}, nil
	}
	var head struct {
		CNIVersion string `json:"cniVersion"`
	}
	json.Unmarshal(conf.PrevResult, &head)
	if head.CNIVersion == "" {
		head.CNIVersion = conf.CNIVersion
	}
	r, err := create.Create(head.CNIVersion, conf.PrevResult)
	if err != nil {
		return nil, badKey("prevResult", err.Error(), "pass on the result of the previous plugin as it is")
	}
	result, err := current.NewResultFromResult(r)
	if err != nil {
		return nil, badKey("prevResult", err.Error(), "pass on the result of the previous plugin as it is")
	}
	return result, nil
}

// buildResult adds the endpoint to the result of the plugin before (specification,
// section 5, Add Success), in the version asked for.
func buildResult(conf Conf, n heddle.Network, netns string, reply heddle.AttachReply, r *current.Result) (types.Result, error) {
	e := reply.Endpoint
	if reply.PortName != "" {
		r.Interfaces = append(r.Interfaces, &current.Interface{Name: reply.PortName, Mac: string(reply.PortMAC), Mtu: mtu(conf, e)})
	}
	if e.MAC != "" {
		own := &current.Interface{Name: e.ID.IfName, Mac: string(e.MAC), Mtu: mtu(conf, e), Sandbox: netns}
		if e.ProgramDrives() && conf.CNIVersion >= "1.1.0" {
			own.PciID = e.NIC.Device.Address
		}
		r.Interfaces = append(r.Interfaces, own)
	}
	own := len(r.Interfaces) - 1
	for _, p := range e.Addrs {
		ip := &current.IPConfig{Interface: current.Int(own), Address: ipNet(p)}
		if g, ok := n.LeasedTo(e).GatewayFor(p.Addr()); ok && !n.Internal {
			ip.Gateway = g.AsSlice()
		}
		r.IPs = append(r.IPs, ip)
	}
	for _, g := range reply.Gateways {
		r.Routes = append(r.Routes, &types.Route{Dst: defaultDestination(g), GW: g.AsSlice()})
	}
	if !conf.DNS.IsEmpty() {
		r.DNS = conf.DNS
	}
	if r.DNS.IsEmpty() && len(reply.Resolvers) > 0 {
		r.DNS.Search = reply.Search
		for _, a := range reply.Resolvers {
			r.DNS.Nameservers = append(r.DNS.Nameservers, a.String())
		}
	}
	return r.GetAsVersion(conf.CNIVersion)
}

// mtu is the endpoint's MTU, or 0 if the caller's version does not have this field.
func mtu(conf Conf, e heddle.Endpoint) int {
	if conf.CNIVersion < "1.1.0" {
		return 0
	}
	return e.MTU
}

// defaultDestination is the default route's destination in the gateway's family.
func defaultDestination(gateway netip.Addr) net.IPNet {
	bits := gateway.BitLen()
	return net.IPNet{IP: make(net.IP, bits/8), Mask: net.CIDRMask(0, bits)}
}

func ipNet(p netip.Prefix) net.IPNet {
	return net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
