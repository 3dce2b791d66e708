package eni

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"time"
)

const (
	// maxAnswer and maxMetadata bound an answer in bytes.
	maxAnswer, maxMetadata = 16 << 20, 64 << 10
	// metadataTime limits one request to a metadata service.
	metadataTime = 5 * time.Second
)

// Client is what requests to an API, or a metadata service, go by. An answer that is longer than any that is wanted is cut off.
type Client struct {
	http http.Client
	most int64
}

// NewClient returns a client. authorities vouch for the API; nil are the system's.
func NewClient(authorities *x509.CertPool) *Client {
	return newClient(CallTime, maxAnswer, &http.Transport{Proxy: http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities}, MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true})
}

// NewMetadataClient returns a client for a metadata service, which gives out credentials: no proxy hears of them.
func NewMetadataClient() *Client {
	return newClient(metadataTime, maxMetadata, &http.Transport{Proxy: nil})
}

func newClient(timeout time.Duration, most int64, by *http.Transport) *Client {
	return &Client{http.Client{Timeout: timeout, Transport: by, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, most}
}

// Do sends a request.
func (c *Client) Do(r *http.Request) (*http.Response, error) {
	answer, err := c.http.Do(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, c.most), answer.Body}
	}
	return answer, err
}
