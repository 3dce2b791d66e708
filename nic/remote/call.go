package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/heddle-network/heddle"
)

const (
	// CallTime is how long a call may take. The service answers earlier.
	CallTime = 100 * time.Second
	// maxAnswer bounds an answer's size in bytes: a service may be hostile. There is room for the most NICs with the most addresses.
	maxAnswer = 4 << 20
)

const serviceRemedy = "look at 'heddle nic serve' on the hypervisor, and at firewalls on the way"

// transport connects for each call anew. A machine may be stopped and moved to another host between calls, and
// an old connection would keep the next call waiting. It uses no proxy.
func transport(g Grant) *http.Transport {
	return &http.Transport{TLSClientConfig: pinned(g), DisableKeepAlives: true, DisableCompression: true,
		DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, TLSHandshakeTimeout: 10 * time.Second,
		MaxResponseHeaderBytes: 64 << 10}
}

// pinned accepts one certificate: that of the grant's fingerprint. The grant came from the hypervisor itself, so
// no authority has to say whose the certificate is, and neither name nor address nor dates in it add anything: a
// machine's clock is often wrong while it starts. The handshake of TLS 1.3 proves that the server has the
// certificate's key. VerifyConnection is called on every connection, also on resumed ones.
func pinned(g Grant) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection does it
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) > 0 && Fingerprint(s.PeerCertificates[0].Raw) == g.Fingerprint {
				return nil
			}
			return heddle.Errorf(heddle.BadGrant, "call NIC service", g.Address, "its certificate is not the one that the grant names; something else may answer in its place",
				"if the hypervisor was installed anew, make a new grant there with 'heddle nic grant FILE "+g.Machine+" --out GRANT'; else look who answers at this address")
		},
	}
}

// call sends a request, and reads the answer into out.
func (c *Client) call(ctx context.Context, op, object, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, "https://"+c.grant.Address+path, body)
	if err != nil {
		return heddle.Wrap(heddle.BadGrant, op, object, err, "make a new grant on the hypervisor")
	}
	req.Header.Set("Authorization", c.grant.authorization())
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.failed(op, object, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return c.failed(op, object, err)
	case len(text) > maxAnswer:
		return c.strange(op, object, fmt.Errorf("it is longer than %d bytes", maxAnswer))
	case resp.StatusCode == http.StatusOK:
		if err := json.Unmarshal(text, out); err != nil {
			return c.strange(op, object, err)
		}
		return nil
	}
	var e heddle.Error
	if err := json.Unmarshal(text, &e); err != nil || e.Op == "" {
		return c.strange(op, object, fmt.Errorf("it has status %d and no error of a NIC service", resp.StatusCode))
	}
	return told(e)
}

// failed is the error of a call without an answer.
func (c *Client) failed(op, object string, err error) error {
	var ours *heddle.Error
	if errors.As(err, &ours) { // of VerifyConnection
		return ours
	}
	cause := err
	if with := (*url.Error)(nil); errors.As(err, &with) {
		cause = with.Err
	}
	if os.IsTimeout(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return heddle.Wrap(heddle.Waited, op, object, fmt.Errorf("NIC service %s: %w", c.grant.Address, cause), serviceRemedy+"; asking again is safe")
	}
	return heddle.Wrap(heddle.NICServiceDown, op, object, fmt.Errorf("NIC service %s: %w", c.grant.Address, cause), serviceRemedy)
}

// strange is the error of an answer that cannot be used.
func (c *Client) strange(op, object string, why error) error {
	return heddle.Errorf(heddle.NICServiceDown, op, object, "the answer of NIC service "+c.grant.Address+" cannot be used: "+heddle.Visible(heddle.SentenceOf(why), false),
		"use heddle of the same version on machine and hypervisor")
}

// told takes on an error that the service sent. It is another machine's text: its kind is the one that its code
// has here, and long texts are cut.
func told(e heddle.Error) error {
	if _, known := heddle.Explain(e.Code); !known {
		e.Code = heddle.NICServiceDown
	}
	return heddle.Errorf(e.Code, cut(e.Op), cut(e.Object), cut(e.Cause), cut(e.Remedy))
}

func cut(s string) string {
	const most = 1000
	return heddle.Visible(s[:min(len(s), most)], false)
}
