package store

import (
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestAway has errors that a client gets of etcd 3.7 while a member stops, is removed, or has no
// leader, and others. "raft proposal dropped" is from its source; the other two without a code
// were seen.
func TestAway(t *testing.T) {
	for _, err := range []error{
		rpctypes.ErrGRPCStopped,
		rpctypes.ErrGRPCNoLeader,
		rpctypes.ErrStopped,
		status.Error(codes.Unavailable, "connection refused"),
		status.Error(codes.Unknown, "raft: stopped"),
		status.Error(codes.Unknown, "raft proposal dropped"),
		status.Error(codes.Unknown, "unexpected HTTP status code received from server: 200 (OK); malformed header: missing HTTP content-type"),
	} {
		if !Away(err) {
			t.Errorf("%v: it answers", err)
		}
	}
	for _, err := range []error{
		rpctypes.ErrGRPCPermissionDenied,
		rpctypes.ErrGRPCRoleNotFound,
		status.Error(codes.Unknown, "something else"),
	} {
		if Away(err) {
			t.Errorf("%v: it does not answer", err)
		}
	}
}

// TestNotSent has what gRPC says of a change that never left, and of one that may have been made.
func TestNotSent(t *testing.T) {
	for words, not := range map[string]bool{
		"write tcp 127.0.0.1:42552->127.0.0.1:28575: write: broken pipe":                          true, // seen, of a server that refused the certificate
		`connection error: desc = "transport: Error while dialing: dial tcp: connection refused"`: true,
		"error reading from server: read tcp 127.0.0.1:1->127.0.0.1:2: connection reset by peer":  false,
	} {
		if got := retryChange(status.Error(codes.Unavailable, words)); got != not {
			t.Errorf("%s: it is tried again: %v", words, got)
		}
	}
}
