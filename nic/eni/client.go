package eni

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"time"
)

// maxAnswer bounds an answer in bytes.
const maxAnswer = 16 << 20

// Client is what requests to an API go by. An answer that is longer than any that is wanted is cut off.
type Client struct{ http http.Client }

// NewClient returns a client. authorities vouch for the API; nil are the system's.
func NewClient(authorities *x509.CertPool) *Client {
	return &Client{http.Client{Timeout: CallTime, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities}, MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Do sends a request.
func (c *Client) Do(r *http.Request) (*http.Response, error) {
	answer, err := c.http.Do(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	}
	return answer, err
}
