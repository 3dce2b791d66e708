package remote

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
	"github.com/heddle-network/heddle/nic"
)

// Paths of the service; all bodies are JSON. An error has the body of a heddle.Error.
const (
	PathOffer = "/v1/offer"
	// PathNICs is GET for all; with a token, PUT plugs a NIC and DELETE unplugs it. Below the token, POST to SubPermit permits a
	// move of the NIC, and POST to SubConfirm ends it.
	PathNICs              = "/v1/nics"
	SubPermit, SubConfirm = "/permit", "/confirm"
	// POST to SubAssign gives the NIC further addresses, POST to SubUnassign takes some from it.
	SubAssign, SubUnassign = "/assign", "/unassign"
	// POST to SubLimit limits what the NIC may receive and send.
	SubLimit = "/limit"
	// PathWatch is GET for a WatchAnswer, when the machine's NICs are not as at QuerySince any more, or some seconds are over.
	PathWatch, QuerySince = "/v1/watch", "since"
)

// PlugRequest is the body of a PUT below PathNICs: an order without its token.
type PlugRequest struct {
	Network string       `json:"network"`
	MAC     heddle.MAC   `json:"mac,omitempty"`
	IPs     []netip.Addr `json:"ips,omitempty"`
	From    string       `json:"from,omitempty"`
}

// WatchAnswer is the answer to a GET of PathWatch.
type WatchAnswer struct {
	// Now names what the machine's NICs are now. It is as QuerySince if nothing has changed.
	Now string `json:"now"`
}

// PermitRequest is the body of a POST to SubPermit.
type PermitRequest struct {
	To string `json:"to,omitempty"`
	As string `json:"as,omitempty"`
}

// AssignRequest is the body of a POST to SubAssign, UnassignRequest that of one to SubUnassign.
type AssignRequest struct {
	Sets int `json:"sets"`
}

type UnassignRequest struct {
	Address netip.Addr `json:"address"`
}

// Client asks the service of its grant. It implements nic.Provider.
type Client struct {
	grant Grant
	http  *http.Client
}

var (
	_ nic.Provider  = (*Client)(nil)
	_ nic.Addresser = (*Client)(nil)
	_ nic.Limiter   = (*Client)(nil)
)

// Open returns the client of a grant's file. It does not connect yet. Its errors are of code heddle.OpenSecret,
// BadGrant or BadArgument.
func Open(file string) (*Client, error) {
	g, err := ReadGrant(file)
	if err != nil {
		return nil, err
	}
	return New(g), nil
}

// New returns the client of a grant that was read already.
func New(g Grant) *Client {
	return &Client{g, &http.Client{Transport: transport(g), Timeout: CallTime,
		// The service redirects nobody: an answer that does is none of its.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Plug implements nic.Provider.
func (c *Client) Plug(ctx context.Context, o nic.Order) (card nic.Card, err error) {
	if err := o.Check(); err != nil {
		return card, err
	}
	if err := c.call(ctx, "plug NIC", o.Token, http.MethodPut, PathNICs+"/"+o.Token, PlugRequest{o.Network, o.MAC, o.IPs, o.From}, &card); err != nil {
		return nic.Card{}, err
	}
	err = card.Check(o.Token, o.Network)
	if err == nil && o.MAC != "" && card.MAC != o.MAC {
		err = fmt.Errorf("it gave MAC address %s", card.MAC)
	}
	if err == nil && !card.Plugged {
		err = fmt.Errorf("it did not plug the NIC in")
	}
	if err != nil {
		return nic.Card{}, c.strange("plug NIC", o.Token, err)
	}
	return card, nil
}

// Unplug implements nic.Provider.
func (c *Client) Unplug(ctx context.Context, token string) error {
	if err := nic.CheckToken(token); err != nil {
		return err
	}
	return c.call(ctx, "unplug NIC", token, http.MethodDelete, PathNICs+"/"+token, nil, &struct{}{})
}

// List implements nic.Provider.
func (c *Client) List(ctx context.Context) (all []nic.Card, err error) {
	const op = "list NICs of"
	if err := c.call(ctx, op, c.grant.Machine, http.MethodGet, PathNICs, nil, &all); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, card := range all {
		err := card.Check(card.Token, "")
		if err == nil && seen[card.Token] {
			err = fmt.Errorf("it listed NIC %s twice", card.Token)
		}
		if err != nil {
			return nil, c.strange(op, c.grant.Machine, err)
		}
		seen[card.Token] = true
	}
	return all, nil
}

// Watch implements nic.Provider.
func (c *Client) Watch(ctx context.Context, since string) (string, error) {
	const op = "watch NICs of"
	var answer WatchAnswer
	if err := c.call(ctx, op, c.grant.Machine, http.MethodGet, PathWatch+"?"+url.Values{QuerySince: {since}}.Encode(), nil, &answer); err != nil {
		return "", err
	}
	if !watchForm.MatchString(answer.Now) {
		return "", c.strange(op, c.grant.Machine, fmt.Errorf("it names a state %q", heddle.Clip(answer.Now)))
	}
	return answer.Now, nil
}

// watchForm is what names a state: some digits.
var watchForm = lazyregexp.New(`^[0-9a-f]{1,64}$`)

// Describe implements nic.Provider.
func (c *Client) Describe(ctx context.Context) (o nic.Offer, err error) {
	const op = "ask for the offer to"
	if err := c.call(ctx, op, c.grant.Machine, http.MethodGet, PathOffer, nil, &o); err != nil {
		return nic.Offer{}, err
	}
	if o.Machine != c.grant.Machine || o.Free < 0 || o.Free > o.Slots || o.Addresses < 0 || o.Addresses > heddle.MaxFurther {
		err = fmt.Errorf("it offered %d of %d NICs to machine %q", o.Free, o.Slots, heddle.Clip(o.Machine))
	}
	for _, n := range o.Networks {
		if err == nil {
			err = heddle.CheckNICNetwork(n)
		}
	}
	for _, p := range o.Permitted {
		if err == nil {
			err = p.Check()
		}
	}
	if err != nil {
		return nic.Offer{}, c.strange(op, c.grant.Machine, err)
	}
	return o, nil
}

// Permit implements nic.Mover.
func (c *Client) Permit(ctx context.Context, token, to, as string) error {
	if err := nic.CheckToken(token); err != nil {
		return err
	}
	return c.call(ctx, "permit move of NIC", token, http.MethodPost, PathNICs+"/"+token+SubPermit, PermitRequest{to, as}, &struct{}{})
}

// Confirm implements nic.Mover.
func (c *Client) Confirm(ctx context.Context, token string) error {
	if err := nic.CheckToken(token); err != nil {
		return err
	}
	return c.call(ctx, "confirm move of NIC", token, http.MethodPost, PathNICs+"/"+token+SubConfirm, struct{}{}, &struct{}{})
}
