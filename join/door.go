package join

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// The calls of the join door.
const (
	pathJoin   = "/v1/join"
	pathRenew  = "/v1/renew"
	pathMember = "/v1/member"
	// pathAuthority is the operator's.
	pathAuthority = "/v1/authority"
)

const (
	// maxDoorReply bounds a reply's size in bytes, maxDoorRequest a request's; doorTime is how
	// long a call may take.
	maxDoorReply   = 64 << 10
	maxDoorRequest = 8 << 10
	doorTime       = 30 * time.Second
	// maxDoorCalls bounds the calls served at a time.
	maxDoorCalls = 8
)

// door lets hosts into the cluster. A host that keeps the store serves it.
type door struct {
	http      *http.Server
	listeners []net.Listener
}

// openDoor serves the join door on all of the host's underlay addresses.
func (n *Node) openDoor() (*door, error) {
	mux := http.NewServeMux()
	room := make(chan struct{}, maxDoorCalls)
	mux.HandleFunc("POST "+pathJoin, handler(room, n.answerJoin))
	mux.HandleFunc("POST "+pathRenew, handler(room, n.answerRenew))
	mux.HandleFunc("POST "+pathMember, handler(room, n.answerMember))
	mux.HandleFunc("POST "+pathAuthority, handler(room, n.answerAuthority))
	d := &door{http: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: doorTime + 10*time.Second, IdleTimeout: 10 * time.Second, MaxHeaderBytes: 8 << 10, ErrorLog: log.New(io.Discard, "", 0)}}
	config := &tls.Config{MinVersion: tls.VersionTLS13, Time: n.opt.Now,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			k, err := n.memberKeys()
			if err != nil {
				return nil, err
			}
			cert := k.serving.tls()
			cert.Certificate = append(cert.Certificate, n.ca.Raw) // a joiner knows it by its hash
			return &cert, nil
		},
		// The handlers verify the certificate, and can say what is wrong.
		ClientAuth: tls.RequestClientCert}
	for _, a := range n.opt.Underlay {
		l, err := net.Listen("tcp", netip.AddrPortFrom(a, DoorPort).String())
		if err != nil {
			return nil, errors.Join(heddle.Wrap(heddle.PortTaken, "open join door on", netip.AddrPortFrom(a, DoorPort).String(), err,
				"end the program that uses the port ('ss -ltnp' shows it), or give an address of this host with --underlay"), d.close())
		}
		d.listeners = append(d.listeners, l)
		go func() {
			if err := d.http.Serve(tls.NewListener(l, config)); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
				n.log.Error("join door closed", "address", l.Addr(), "error", err)
			}
		}()
	}
	return d, nil
}

func (d *door) close() error {
	if d == nil {
		return nil
	}
	var errs []error
	for _, l := range d.listeners {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if err := d.http.Close(); !errors.Is(err, net.ErrClosed) { // a listener that is closed, and still known to the server
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// handler serves one call of the door in JSON, and bounds its size, time and number.
func handler[Q any](room chan struct{}, f func(context.Context, Q, *x509.Certificate) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var q Q // read before the call takes a slot: a slow client takes no slot
		d := json.NewDecoder(io.LimitReader(r.Body, maxDoorRequest))
		d.DisallowUnknownFields()
		if err := d.Decode(&q); err != nil {
			writeReply(w, nil, heddle.Wrap(heddle.BadJSON, "read request", r.URL.Path, err,
				"use heddled of the same version on both hosts"))
			return
		}
		select {
		case room <- struct{}{}:
			defer func() { <-room }()
		case <-r.Context().Done():
			return
		case <-time.After(doorTime / 3):
			writeReply(w, nil, heddle.Errorf(heddle.StoreDown, "answer request", r.URL.Path, "the join door is busy",
				"try again"))
			return
		}
		var caller *x509.Certificate
		if len(r.TLS.PeerCertificates) > 0 {
			caller = r.TLS.PeerCertificates[0]
		}
		// The call is finished even if the caller disconnects.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), doorTime)
		defer cancel()
		v, err := f(ctx, q, caller)
		writeReply(w, v, err)
	}
}

func writeReply(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		var e *heddle.Error
		if !errors.As(err, &e) {
			e = heddle.Errorf(heddle.StoreRefused, "answer", "request", strings.TrimSpace(err.Error()),
				"look at the log of the host that answered")
		}
		w.WriteHeader(http.StatusForbidden)
		v = e
	}
	json.NewEncoder(w).Encode(v)
}
