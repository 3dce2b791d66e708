package client

import (
	"context"

	"github.com/heddle-network/heddle/names"
)

// PathNames lists the names of endpoints, on all hosts.
const PathNames = "/v1/names"

// Names lists the names of endpoints that pass a filter, such as "network=front", on all hosts.
func (c *Client) Names(ctx context.Context, filter []string) (all []names.Entry, err error) {
	return all, c.call(ctx, "GET", filtered(PathNames, filter), nil, &all)
}
