package remote

import (
	"context"
	"fmt"
	"net/http"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// Limit implements nic.Limiter. The body of the POST is a heddle.RateLimits.
func (c *Client) Limit(ctx context.Context, token string, asked heddle.RateLimits) (card nic.Card, err error) {
	const op = "limit NIC"
	if err := nic.CheckToken(token); err != nil {
		return card, err
	}
	if err := c.call(ctx, op, token, http.MethodPost, PathNICs+"/"+token+SubLimit, asked, &card); err != nil {
		return nic.Card{}, err
	}
	err = card.Check(token, "")
	if err == nil && card.Asked != asked {
		err = fmt.Errorf("it says that limits %q were asked for", card.Asked)
	}
	if err == nil && (over(card.Limits.In, asked.In) || over(card.Limits.Out, asked.Out)) {
		err = fmt.Errorf("it allows %q, and %q was asked for", card.Limits, asked)
	}
	if err != nil {
		return nic.Card{}, c.strange(op, token, err)
	}
	return card, nil
}

// over reports whether more passes than was asked for.
func over(has, asked heddle.RateLimit) bool {
	return asked.Rate != 0 && (has.Rate == 0 || has.Rate > asked.Rate)
}
