package main

import (
	"maps"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/nic/aliyun"
	"github.com/heddle-network/heddle/nic/aws"
	"github.com/heddle-network/heddle/nic/eni"
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
		return cloudOf(c.NICCloud)
	}
	return nil, nil
}

// cloudOf returns the provider of the cloud that a file has a key of.
func cloudOf(file string) (nic.Provider, error) {
	open := map[string]func(string) (*eni.Provider, error){"aliyun": aliyun.Open, "aws": aws.Open}
	name, err := eni.Named(file, slices.Sorted(maps.Keys(open))...)
	if err != nil {
		return nil, err
	}
	p, err := open[name](file)
	if err != nil {
		return nil, err // and not a provider that is nil
	}
	return p, nil
}
