package remote

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/heddle-network/heddle/nic"
)

// Assign implements nic.Addresser.
func (c *Client) Assign(ctx context.Context, token string, sets int) (card nic.Card, err error) {
	const op = "assign addresses to NIC"
	if err := nic.CheckToken(token); err != nil {
		return card, err
	}
	if err := c.call(ctx, op, token, http.MethodPost, PathNICs+"/"+token+SubAssign, AssignRequest{sets}, &card); err != nil {
		return nic.Card{}, err
	}
	err = card.Check(token, "")
	if err == nil && len(card.Further) < sets {
		err = fmt.Errorf("it gave %d sets of further addresses, and %d were asked for", len(card.Further), sets)
	}
	if err != nil {
		return nic.Card{}, c.strange(op, token, err)
	}
	return card, nil
}

// Unassign implements nic.Addresser.
func (c *Client) Unassign(ctx context.Context, token string, a netip.Addr) error {
	if err := nic.CheckToken(token); err != nil {
		return err
	}
	return c.call(ctx, "unassign address of NIC", token, http.MethodPost, PathNICs+"/"+token+SubUnassign, UnassignRequest{a}, &struct{}{})
}
