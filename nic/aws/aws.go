// Package aws plugs NICs into this machine, an EC2 instance, by the cloud's API. It has the cloud's calls and words; what is done with them is package
// eni's.
package aws

import (
	"cmp"
	"context"
	"crypto/x509"
	"sync"
	"time"

	"github.com/heddle-network/heddle/nic/eni"
)

const (
	// mtu of the cloud's NICs in bytes, which is right everywhere.
	mtu = 1500
	// lag is how long the API may show a NIC as it was before it was asked to change it (EC2 Developer Guide, "Eventual consistency").
	lag = 5 * time.Second
)

// cloud is Amazon EC2.
type cloud struct {
	config      Config
	authorities *x509.CertPool
	meta        *metadata

	// What Start has found out; it does not change after that.
	api *api
	me  instance

	mu sync.Mutex
	// taking are device indexes that this process is about to use.
	taking map[int32]bool
}

var _ eni.Cloud = (*cloud)(nil)

// Open returns the provider of a file; it does not ask anything yet. Its errors are of code heddle.BadArgument.
func Open(file string) (*eni.Provider, error) {
	c, err := open(file)
	if err != nil {
		return nil, err
	}
	return eni.New(c, c.settings()), nil
}

func open(file string) (*cloud, error) {
	c, err := readConfig(file)
	if err != nil {
		return nil, err
	}
	authorities, err := c.Authorities()
	if err != nil {
		return nil, err
	}
	return &cloud{config: c, authorities: authorities, meta: newMetadata(), taking: map[int32]bool{}}, nil
}

func (c *cloud) settings() eni.Settings {
	s := eni.Settings{Name: "EC2", Subnets: map[string]string{}, Most: c.config.Most, Prefixes: c.config.Prefixes, MTU: cmp.Or(c.config.MTU, mtu), Closed: closed, Lag: lag}
	for name, n := range c.config.Networks {
		s.Subnets[name] = n.Subnet
	}
	return s
}

// Start implements eni.Cloud.
func (c *cloud) Start(ctx context.Context) (eni.Machine, error) {
	me, err := c.meta.instance(ctx)
	if err != nil {
		return eni.Machine{}, err
	}
	c.api, c.me = newAPI(c.config, c.authorities, me.region, c.meta.credentials()), me
	return eni.Machine{ID: me.id, Type: me.kind}, nil
}
