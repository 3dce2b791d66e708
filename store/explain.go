package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/heddle-network/heddle"
)

// explain turns an error of etcd's into one of ours.
func (e *Etcd) explain(op, object string, err error) error {
	code, cause, remedy := e.classify(err)
	return heddle.Wrap(code, op, object, etcdError{cause, err}, remedy)
}

// etcdError is an error of etcd's with a text of its own.
type etcdError struct {
	text string
	error
}

func (s etcdError) Error() string { return s.text }
func (s etcdError) Unwrap() error { return s.error }

// classify finds the code, cause and remedy of an error of etcd's.
func (e *Etcd) classify(err error) (code heddle.Code, cause, remedy string) {
	cause = message(err)
	servers := strings.Join(e.client.Endpoints(), ", ")
	switch status := status.Code(err); {
	case refusedByTLS(err):
		return heddle.StoreRefused, cause + "; " + e.certificate(), "look at the certificates and the clocks here and on " + servers
	case isError(err, rpctypes.ErrGRPCNoSpace):
		return heddle.StoreFull, cause, "remove what fills it: 'heddle host remove NAME --force' does so with a host that has filled an embedded one, which has room again some seconds later; in an etcd of your own, free room ('etcdctl compact', 'etcdctl defrag') and disarm the alarm ('etcdctl alarm disarm')"
	case status == codes.PermissionDenied || status == codes.Unauthenticated || isError(err, rpctypes.ErrGRPCUserEmpty) || isError(err, rpctypes.ErrGRPCUserNotFound):
		return heddle.StoreRefused, cause + "; " + e.certificate(), "if the host was removed, join again; if only an operator may do it, give the credential with --credential"
	case status == codes.InvalidArgument && !isError(err, rpctypes.ErrGRPCAuthOldRevision):
		return heddle.BadArgument, cause, "make the change smaller"
	case errors.Is(err, context.Canceled):
		return heddle.StoreDown, "the call was ended before the store had answered", "try again"
	default:
		return heddle.StoreDown, cause, "look at 'heddle status', the servers' own logs, and the network to " + servers
	}
}

// Denied reports whether the store has answered and, by its access rights, does not allow
// the caller what it asked for. A certificate that is not accepted does not count: then
// there is no answer.
func Denied(err error) bool {
	var etcds etcdError
	return errors.As(err, &etcds) && status.Code(etcds.error) == codes.PermissionDenied
}

// Away reports whether an error of etcd's own client (Client) says that the store does not
// answer for now, or has no leader. A refusal by the store is not such an error.
func Away(err error) bool {
	code := status.Code(err)
	var etcds rpctypes.EtcdError // gRPC has no such errors
	if errors.As(err, &etcds) {
		code = etcds.Code()
	}
	return code == codes.Unavailable || code == codes.Canceled || code == codes.DeadlineExceeded || endsInWords(err, code) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// endsInWords reports whether the answer, which has no code, is from a server that is shutting
// down or changing its leader: its HTTP side ends gRPC calls with an empty answer, and its Raft
// node has errors that etcd passes on as they are (ErrStopped, ErrProposalDropped).
func endsInWords(err error, code codes.Code) bool {
	return code == codes.Unknown && slices.ContainsFunc([]string{"missing HTTP content-type", "raft: stopped", "raft proposal dropped"},
		func(words string) bool { return strings.Contains(err.Error(), words) })
}

// certificate describes this host's certificate to the store, and how long it is valid.
func (e *Etcd) certificate() string {
	config := e.options.TLS
	if config == nil {
		return "this host shows no certificate: it is connected in clear"
	}
	leaf, now := ownLeaf(config), time.Now()
	if config.Time != nil {
		now = config.Time()
	}
	const day = time.RFC3339
	switch {
	case leaf == nil:
		return "this host shows no certificate"
	case now.Before(leaf.NotBefore) || now.After(leaf.NotAfter):
		return fmt.Sprintf("this host's certificate (%s) is valid from %s to %s, and its clock says %s",
			leaf.Subject.CommonName, leaf.NotBefore.UTC().Format(day), leaf.NotAfter.UTC().Format(day), now.UTC().Format(day))
	default:
		return fmt.Sprintf("this host's certificate (%s) ends %s, and its clock says %s",
			leaf.Subject.CommonName, leaf.NotAfter.UTC().Format(day), now.UTC().Format(day))
	}
}

func ownLeaf(config *tls.Config) *x509.Certificate {
	var own *tls.Certificate
	switch {
	case config.GetClientCertificate != nil:
		own, _ = config.GetClientCertificate(&tls.CertificateRequestInfo{})
	case len(config.Certificates) > 0:
		own = &config.Certificates[0]
	}
	if own == nil || len(own.Certificate) == 0 {
		return nil
	}
	leaf, err := x509.ParseCertificate(own.Certificate[0])
	if err != nil {
		return nil
	}
	return leaf
}
