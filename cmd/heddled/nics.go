package main

import (
	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/nic/aliyun"
	"github.com/heddle-network/heddle/nic/remote"
)

// provider returns who plugs NICs into this machine; nil if nobody does.
func (c config) provider() (nic.Provider, error) {
	switch {
	case c.NICGrant != "" && c.NICCloud != "":
		return nil, heddle.Errorf(heddle.BadArgument, "read configuration", "nicGrant and nicCloud", "NICs come from one provider", "leave one of them out")
	case c.NICGrant != "":
		return remote.Open(c.NICGrant)
	case c.NICCloud != "":
		return aliyun.Open(c.NICCloud)
	}
	return nil, nil
}
