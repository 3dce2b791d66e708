package client

import (
	"context"

	"github.com/heddle-network/heddle"
)

// PathPeers lists the other hosts of the cluster and the paths to them.
const PathPeers = "/v1/peers"

// Peers lists the other hosts of the cluster; none for a host alone.
func (c *Client) Peers(ctx context.Context) (all []heddle.PeerStatus, err error) {
	return all, c.call(ctx, "GET", PathPeers, nil, &all)
}
