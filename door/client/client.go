package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"time"

	"github.com/heddle-network/heddle"
)

// Client calls an agent.
type Client struct {
	socket string
	http   *http.Client
}

// New returns a client for the agent that listens on the socket.
func New(socket string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	return &Client{socket, &http.Client{Transport: &http.Transport{DialContext: dial}, Timeout: 2 * time.Minute}}
}

// Modes lists the modes of networks that have endpoints there.
func (c *Client) Modes(ctx context.Context) (names []string, err error) {
	return names, c.call(ctx, "GET", PathModes, nil, &names)
}

// CreateNetwork makes a network, or with dryRun returns the commands only.
func (c *Client) CreateNetwork(ctx context.Context, n heddle.Network, dryRun bool) (heddle.Network, []string, error) {
	var r CreateReply
	err := c.call(ctx, "POST", PathNetworks, CreateRequest{n, dryRun}, &r)
	return r.Network, r.Commands, err
}

// Networks lists all networks.
func (c *Client) Networks(ctx context.Context) ([]heddle.Network, error) {
	return c.NetworksBy(ctx, nil)
}

// NetworksBy lists the networks that pass a filter, such as "label=app=web".
func (c *Client) NetworksBy(ctx context.Context, filter []string) (all []heddle.Network, err error) {
	return all, c.call(ctx, "GET", filtered(PathNetworks, filter), nil, &all)
}

// Network returns one network.
func (c *Client) Network(ctx context.Context, name string) (n heddle.Network, err error) {
	return n, c.call(ctx, "GET", PathNetworks+"/"+url.PathEscape(name), nil, &n)
}

// DeleteNetwork removes a network without endpoints.
func (c *Client) DeleteNetwork(ctx context.Context, name string) error {
	return c.call(ctx, "DELETE", PathNetworks+"/"+url.PathEscape(name), nil, &struct{}{})
}

// Allow permits traffic between two networks.
func (c *Client) Allow(ctx context.Context, first, second string) error {
	return c.call(ctx, "POST", PathAllow, AllowRequest{First: first, Second: second}, &struct{}{})
}

// Disallow takes back what Allow gave.
func (c *Client) Disallow(ctx context.Context, first, second string) error {
	return c.call(ctx, "POST", PathAllow, AllowRequest{First: first, Second: second, Off: true}, &struct{}{})
}

// Attach makes an endpoint.
func (c *Client) Attach(ctx context.Context, q heddle.AttachRequest) (r heddle.AttachReply, err error) {
	return r, c.call(ctx, "POST", PathAttach, q, &r)
}

// AttachBatch makes several endpoints, heddle.MaxBatch at most. Each result has a reply or an error. The error is about the batch as a whole: nothing was
// changed then, unless the agent was not reached or did not answer in time (heddle.Unreachable, heddle.Timeout).
func (c *Client) AttachBatch(ctx context.Context, all []heddle.AttachRequest) ([]heddle.AttachResult, error) {
	var r AttachBatchReply
	err := c.call(ctx, "POST", PathAttachBatch, AttachBatchRequest{all}, &r)
	if err == nil && len(r.Results) != len(all) {
		err = heddle.Errorf(heddle.AgentDown, "call agent", c.socket, fmt.Sprintf("it answered %d of %d requests", len(r.Results), len(all)), "look at the agent's log ('journalctl -u heddled')")
	}
	return r.Results, err
}

// Detach removes an endpoint and says whether there was one.
func (c *Client) Detach(ctx context.Context, id heddle.EndpointID) (bool, error) {
	var r DetachReply
	err := c.call(ctx, "POST", PathDetach, DetachRequest{EndpointID: id}, &r)
	return r.Found, err
}

// Move detaches an endpoint, and sends its addresses to another host.
func (c *Client) Move(ctx context.Context, id heddle.EndpointID, to string) (e heddle.Endpoint, err error) {
	return e, c.call(ctx, "POST", PathMove, MoveRequest{ID: id, To: to}, &e)
}

// Label changes an endpoint's labels.
func (c *Client) Label(ctx context.Context, id heddle.EndpointID, change heddle.LabelChange) (e heddle.Endpoint, err error) {
	return e, c.call(ctx, "POST", PathLabel, LabelRequest{id, change}, &e)
}

// SetLimits changes an endpoint's limits. A dry run changes nothing, and answers with the commands.
func (c *Client) SetLimits(ctx context.Context, id heddle.EndpointID, change heddle.RateLimitChange, dryRun bool) (heddle.Endpoint, []string, error) {
	var r LimitsReply
	err := c.call(ctx, "POST", PathLimits, LimitsRequest{id, change, dryRun}, &r)
	return r.Endpoint, r.Commands, err
}

// Assign gives the interface of a virtual machine further addresses, until it has that many sets of them. The first set that is new has the
// addresses ips, at most one of each family.
func (c *Client) Assign(ctx context.Context, id heddle.EndpointID, sets int, ips ...netip.Addr) (e heddle.Endpoint, err error) {
	return e, c.call(ctx, "POST", PathFurther, FurtherRequest{ID: id, Sets: sets, IPs: ips}, &e)
}

// Unassign takes the set of further addresses with that address from the interface of a virtual machine.
func (c *Client) Unassign(ctx context.Context, id heddle.EndpointID, a netip.Addr) (e heddle.Endpoint, err error) {
	return e, c.call(ctx, "POST", PathFurther, FurtherRequest{ID: id, Without: a}, &e)
}

// Endpoints lists all endpoints.
func (c *Client) Endpoints(ctx context.Context) ([]heddle.Endpoint, error) {
	return c.EndpointsBy(ctx, nil)
}

// EndpointsBy lists the endpoints that pass a filter, such as "network=front".
func (c *Client) EndpointsBy(ctx context.Context, filter []string) (all []heddle.Endpoint, err error) {
	return all, c.call(ctx, "GET", filtered(PathEndpoints, filter), nil, &all)
}

// QueryAllHosts is the name in the query of PathEndpoints that asks for the endpoints of all hosts.
const QueryAllHosts = "all-hosts"

// EndpointsEverywhere lists the endpoints of all hosts that pass a filter. Of other hosts they are
// those with names on networks that this host has, with ID, names and addresses alone.
func (c *Client) EndpointsEverywhere(ctx context.Context, filter []string) (all []heddle.Endpoint, err error) {
	values := url.Values{QueryFilter: filter, QueryAllHosts: {"true"}}
	return all, c.call(ctx, "GET", PathEndpoints+"?"+values.Encode(), nil, &all)
}

// Endpoint returns one endpoint.
func (c *Client) Endpoint(ctx context.Context, id heddle.EndpointID) (e heddle.Endpoint, err error) {
	return e, c.call(ctx, "GET", PathEndpoints+idPath(id), nil, &e)
}

// Check compares an endpoint, or all with a zero id, with the kernel.
func (c *Client) Check(ctx context.Context, id heddle.EndpointID) (all []heddle.Finding, err error) {
	return all, c.call(ctx, "GET", PathCheck+idPath(id), nil, &all)
}

// Explain returns an endpoint's commands and drift.
func (c *Client) Explain(ctx context.Context, id heddle.EndpointID) (x heddle.Explained, err error) {
	return x, c.call(ctx, "GET", PathExplain+idPath(id), nil, &x)
}

// ExplainNetwork returns a network's commands and drift.
func (c *Client) ExplainNetwork(ctx context.Context, name string) (x heddle.ExplainedNetwork, err error) {
	return x, c.call(ctx, "GET", PathNetworks+"/"+url.PathEscape(name)+"/explain", nil, &x)
}

// Audit compares ledger, kernel and containers.
func (c *Client) Audit(ctx context.Context) (all []heddle.Finding, err error) {
	return all, c.call(ctx, "GET", PathAudit, nil, &all)
}

// GC removes what belongs to nobody; see agent.GC.
func (c *Client) GC(ctx context.Context, owner string, keep []heddle.EndpointID) ([]string, error) {
	var r GCReply
	err := c.call(ctx, "POST", PathGC, GCRequest{Owner: owner, Keep: keep}, &r)
	return r.Removed, err
}

// Status returns the agent's health.
func (c *Client) Status(ctx context.Context) (s heddle.Status, err error) {
	return s, c.call(ctx, "GET", PathStatus, nil, &s)
}

func idPath(id heddle.EndpointID) string {
	if id == (heddle.EndpointID{}) {
		return ""
	}
	return "/" + url.PathEscape(id.Container) + "/" + url.PathEscape(id.IfName)
}

func filtered(path string, filter []string) string {
	if len(filter) == 0 {
		return path
	}
	return path + "?" + url.Values{QueryFilter: filter}.Encode()
}

func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	resp, err := c.do(ctx, c.http, method, path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(out)
}

// do sends a request, and returns the answer if it is no error. The caller closes its body.
func (c *Client) do(ctx context.Context, by *http.Client, method, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://heddle"+path, body)
	if err != nil {
		return nil, err
	}
	resp, err := by.Do(req)
	cause := err
	if with := (*url.Error)(nil); errors.As(err, &with) { // its URL is none that a person could call
		cause = with.Err
	}
	switch {
	case os.IsTimeout(err):
		return nil, heddle.Wrap(heddle.Waited, "call agent", c.socket, cause, "look at the agent's log ('journalctl -u heddled')")
	case errors.Is(err, os.ErrPermission):
		return nil, heddle.Wrap(heddle.NoPermission, "call agent", c.socket, cause, "call as root, or join the socket's group")
	case err != nil:
		return nil, heddle.Wrap(heddle.AgentDown, "call agent", c.socket, cause,
			"start the agent ('systemctl start heddled'), or name its socket with --socket")
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	e := &heddle.Error{}
	if err := json.NewDecoder(resp.Body).Decode(e); err != nil || e.Op == "" {
		return nil, heddle.Wrap(heddle.AgentDown, "call agent", c.socket, &statusError{resp.Status, path},
			"give the socket of a heddled of this program's version with --socket")
	}
	return nil, e
}

// statusError is an answer that is not an agent's.
type statusError struct{ status, path string }

func (e *statusError) Error() string { return "it answered " + e.status + " to " + e.path }
