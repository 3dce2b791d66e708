package main

import (
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/nic/remote"
)

// provider returns who plugs NICs into this machine; nil if nobody does.
func (c config) provider() (nic.Provider, error) {
	if c.NICGrant == "" {
		return nil, nil
	}
	return remote.Open(c.NICGrant)
}
