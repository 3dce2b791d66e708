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
