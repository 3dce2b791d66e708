// Package aliyun plugs NICs into this machine, an ECS instance of Alibaba Cloud, by the cloud's API. It has the cloud's calls and words; what is
// done with them is package eni's.
package aliyun

import (
	"context"
	"crypto/x509"
	"time"

	"github.com/heddle-network/heddle/nic/eni"
)

const (
	// mtu of the cloud's NICs in bytes.
	mtu = 1500
	// lag is how long the API may show a NIC as it was before it was asked to change it.
	lag = 5 * time.Second
)

// ecs is Alibaba Cloud.
type ecs struct {
	config      Config
	authorities *x509.CertPool
	meta        *metadata
	role        *role

	// What Start has found out; it does not change after that.
	api *api
	me  instance
}

var _ eni.Cloud = (*ecs)(nil)

// Open returns the provider of a file; it does not ask anything yet. Its errors are of code heddle.BadArgument.
func Open(file string) (*eni.Provider, error) {
	c, err := open(file)
	if err != nil {
		return nil, err
	}
	return eni.New(c, c.settings()), nil
}

func open(file string) (*ecs, error) {
	c, err := readConfig(file)
	if err != nil {
		return nil, err
	}
	authorities, err := c.Authorities()
	if err != nil {
		return nil, err
	}
	m := newMetadata()
	return &ecs{config: c, authorities: authorities, meta: m, role: newRole(m)}, nil
}

func (c *ecs) settings() eni.Settings {
	s := eni.Settings{Name: "Alibaba Cloud", Subnets: map[string]string{}, Most: c.config.Most, Prefixes: c.config.Prefixes, MTU: mtu, Closed: closed, Lag: lag}
	for name, n := range c.config.Networks {
		s.Subnets[name] = n.VSwitch
	}
	return s
}

// Start implements eni.Cloud.
func (c *ecs) Start(ctx context.Context) (eni.Machine, error) {
	me, err := c.meta.instance(ctx)
	if err != nil {
		return eni.Machine{}, err
	}
	a, err := newAPI(c.config, c.authorities, me.region, c.role)
	if err != nil {
		return eni.Machine{}, err
	}
	c.api, c.me = a, me
	return eni.Machine{ID: me.id, Type: me.kind}, nil
}
