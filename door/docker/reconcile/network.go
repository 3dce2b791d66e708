package reconcile

import (
	"context"
	"net/netip"
	"strings"

	"github.com/heddle-network/heddle"
)

// network is a network of dockerd's. It has the fields that matter here, in the form in
// which dockerd lists and creates networks (Docker Engine API, v1.40 and later).
type network struct {
	ID             string `json:"Id,omitempty"`
	Name           string
	CheckDuplicate bool `json:",omitempty"` // before v1.44: refuse a second one of the name
	Driver         string
	Scope          string `json:",omitempty"`
	EnableIPv4     *bool  `json:",omitempty"`
	EnableIPv6     bool
	Internal       bool
	Attachable     bool
	IPAM           ipam
	Options        map[string]string
	Labels         map[string]string
}

type ipam struct {
	Driver  string
	Options map[string]string
	Config  []pool
}

// pool holds texts, so that unusual values in other people's networks cause no error.
type pool struct {
	Subnet             string            `json:",omitempty"`
	IPRange            string            `json:",omitempty"`
	Gateway            string            `json:",omitempty"`
	AuxiliaryAddresses map[string]string `json:",omitempty"`
}

func (d *dockerd) networks(ctx context.Context) (all []network, err error) {
	return all, d.call(ctx, "GET", "/networks", nil, &all)
}

func (d *dockerd) create(ctx context.Context, n network) error {
	return d.call(ctx, "POST", "/networks/create", n, nil)
}

func (d *dockerd) remove(ctx context.Context, id string) error {
	return d.call(ctx, "DELETE", "/networks/"+id, nil, nil)
}

// description is what other hosts need to know of a network.
func (n network) description() *heddle.DockerNetwork {
	d := &heddle.DockerNetwork{Labels: nilIfEmpty(n.Labels), Options: withoutID(n.Options), IPAMOptions: withoutID(n.IPAM.Options), Attachable: n.Attachable}
	for _, p := range n.IPAM.Config {
		subnet, err := netip.ParsePrefix(p.Subnet)
		if err != nil {
			continue
		}
		one := heddle.DockerPool{Subnet: subnet.Masked()}
		one.Range, _ = netip.ParsePrefix(p.IPRange)
		for name, text := range p.AuxiliaryAddresses {
			text, _, _ = strings.Cut(text, "/")
			if a, err := netip.ParseAddr(text); err == nil {
				if one.Reserved == nil {
					one.Reserved = map[string]netip.Addr{}
				}
				one.Reserved[name] = a
			}
		}
		if one.Range.IsValid() || one.Reserved != nil {
			d.Pools = append(d.Pools, one)
		}
	}
	return d
}

// networkFor is the form that a network of the cluster should have in a dockerd.
func networkFor(n heddle.Network, driver string) network {
	w := network{Name: n.Name, CheckDuplicate: true, Driver: driver, Internal: n.Internal, Attachable: n.Docker.Attachable,
		Options: withID(n.Docker.Options, n.ID), Labels: n.Docker.Labels,
		IPAM: ipam{Driver: driver, Options: withID(n.Docker.IPAMOptions, n.ID)}}
	v4 := false
	for i, subnet := range n.Subnets {
		p := pool{Subnet: subnet.String()}
		if i < len(n.Gateways) && n.Gateways[i].IsValid() {
			p.Gateway = n.Gateways[i].String()
		}
		for _, known := range n.Docker.Pools {
			if known.Subnet != subnet {
				continue
			}
			if known.Range.IsValid() {
				p.IPRange = known.Range.String()
			}
			for name, a := range known.Reserved {
				if p.AuxiliaryAddresses == nil {
					p.AuxiliaryAddresses = map[string]string{}
				}
				p.AuxiliaryAddresses[name] = a.String()
			}
		}
		v4 = v4 || subnet.Addr().Is4()
		w.EnableIPv6 = w.EnableIPv6 || subnet.Addr().Is6()
		w.IPAM.Config = append(w.IPAM.Config, p)
	}
	if !v4 {
		w.EnableIPv4 = &v4
	}
	return w
}
