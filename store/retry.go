package store

import (
	"context"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// retry calls f until it succeeds, fails for good, or the time is up.
func (e *Etcd) retry(ctx context.Context, op, object string, again func(error) bool, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, e.options.Patience)
	defer cancel()
	stop := context.AfterFunc(e.ctx, cancel)
	defer stop()
	var last error
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		err := e.tlsRefusal(ctx, f(ctx))
		if err == nil {
			return nil
		}
		// "Out of time" says less than the last error, which is why it took so long.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		if ctx.Err() != nil || !again(err) {
			return e.explain(op, object, last)
		}
		select {
		case <-ctx.Done():
			return e.explain(op, object, last)
		case <-time.After(wait):
		}
	}
}

// retryRead says whether a read that failed with err may succeed on another try.
func retryRead(err error) bool {
	if refusedByTLS(err) {
		return false
	}
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.DeadlineExceeded || notApplied(err)
}

// retryChange says whether a change that failed with err was certainly not made, and may
// succeed on another try.
func retryChange(err error) bool { return !refusedByTLS(err) && notApplied(err) }

func notApplied(err error) bool {
	return isError(err, rpctypes.ErrGRPCNoLeader) || // this is checked before anything else
		isError(err, rpctypes.ErrGRPCAuthOldRevision) || // users were changed meanwhile
		isError(err, rpctypes.ErrGRPCNotSupportedForLearner) ||
		isError(err, rpctypes.ErrGRPCRequestTooManyRequests) ||
		isError(err, rpctypes.ErrGRPCLeaseNotFound) || // a new one is made
		notSent(err)
}

// notSent says that there was no connection to send the request on: gRPC only reports how
// connecting failed. If it could not write the first bytes of the connection, it reports that error of a
// socket's as it is (http2Client of grpc-go); it says more of one on which a request was sent.
func notSent(err error) bool {
	if status.Code(err) != codes.Unavailable {
		return false
	}
	if strings.HasPrefix(message(err), "write tcp ") {
		return true
	}
	for _, w := range []string{"Error while dialing", "error reading server preface", "authentication handshake failed"} {
		if strings.Contains(message(err), w) {
			return true
		}
	}
	return false
}

// refusedByTLS says that one side did not accept the other's certificate.
func refusedByTLS(err error) bool {
	w := message(err)
	return strings.Contains(w, "x509: ") || strings.Contains(w, "tls: ")
}

// isError says whether err is the given error of etcd's.
func isError(err, etcds error) bool { return err != nil && message(err) == message(etcds) }

// message is the error's own text, without what gRPC adds.
func message(err error) string { return status.Convert(err).Message() }
